// Nodes. What comes from outside goes in as text, never as markup; only what changed is touched.

const SVG = "http://www.w3.org/2000/svg";
const at = (id) => document.getElementById(id);

function el(tag, look = "", ...children) {
  const node = document.createElement(tag);
  if (look) node.className = look;
  node.append(...children);
  return node;
}

function sign(look = "sign") {
  const node = document.createElementNS(SVG, "svg");
  node.setAttribute("class", look);
  node.setAttribute("aria-hidden", "true");
  node.append(document.createElementNS(SVG, "use"));
  return node;
}

function text(node, words) {
  const said = String(words);
  if (node.textContent !== said) node.textContent = said;
}

function attr(node, name, value) {
  if (value === null) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== value) {
    node.setAttribute(name, value);
  }
}

function look(node, value) {
  attr(node, "class", value);
}

function show(node, visible) {
  if (node.hidden === visible) node.hidden = !visible;
}

function wide(node, part) {
  const width = `${(part * 100).toFixed(1)}%`;
  if (node.style.width !== width) node.style.width = width;
}

// Text or nothing: the node is there while there are words.
function said(node, words) {
  text(node, words);
  show(node, Boolean(words));
}

// Make the children of a node follow a list: one child for each key, made once, filled each time,
// in the list's order. Children that stand where they should are not moved.
function follow(parent, items, keyOf, make, fill) {
  const known = parent.byKey || (parent.byKey = new Map());
  const kept = new Set();
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let child = known.get(key);
    if (!child) known.set(key, (child = make(item)));
    fill(child, item);
    kept.add(key);
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  for (const [key, child] of known) {
    if (!kept.has(key)) {
      child.remove();
      known.delete(key);
    }
  }
}

// The same for lines that have no name of their own: they are known by where they stand.
function lines(parent, items, make, fill) {
  const placed = items.map((item, place) => ({ item, place }));
  const key = ({ place }) => place;
  follow(parent, placed, key, ({ item }) => make(item), (node, { item }) => fill(node, item));
}
