"""The page: what people see of a job, live, in any browser, on any screen.

`SCREENSHOTS=write` makes the pictures of docs/page.md anew.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from mpiboot.local.cluster import Bind
from mpiboot.local.window import Window
from tests.helpers import views
from tests.helpers.agents import Agent, Agents
from tests.helpers.browser import Browser
from tests.helpers.eventually import eventually
from tests.helpers.viewserver import ViewServer

DOCS = Path(__file__).parents[2] / "docs"
LONG_S = 60.0
QUICK = ("--mca", "odls_base_sigkill_timeout", "0")  # these tests are not about Open MPI's patience
PHONE = 360
HOSTILE = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>&amp;'


@pytest.fixture
def server() -> Iterator[ViewServer]:
    """A server of the page that shows what it is given."""
    made = ViewServer()
    yield made
    made.stop()


def sees(browser: Browser, *words: str, timeout_s: float = 10.0) -> None:
    """Wait until all of these can be read on the page."""

    def check() -> None:
        text = browser.text()
        assert [word for word in words if word not in text] == [], text

    eventually(check, timeout_s)


def assert_quiet(browser: Browser, url: str) -> None:
    """Nothing went wrong in the page, and it asked nobody but its own server."""
    assert browser.complaints() == []
    assert {one for one in browser.fetched() if not one.startswith(url)} == set()


# States, on each kind of screen.

STATES: dict[str, tuple[Callable[[], views.View], list[str]]] = {
    "waiting": (views.waiting, [
        "Waiting", "1 of 3 workers ready.", "Gives up after 10 min", "Who is missing", "Connection refused", "train-worker-1",
        "Name does not resolve", "train-worker-2", "not written yet",
    ]),
    "running": (lambda: views.running(3, gpus=2), [
        "Running", "12 ranks on 3 workers.", "train-worker-2", "ranks 8-11", "4 slots", "heartbeat 0.7 s ago", "GPU 1",
        "of 64.0 GiB", "step 8139: loss",
    ]),
    "failed": (views.failed, [
        "Failed", "Exit code 1: the job's own program failed.", "What failed first", "rank 6 on train-worker-1 ended with 1",
        "ValueError: loss is nan at step 8140", "rank 0 on train-worker-0 was killed by SIGTERM", "rank 6: exit 1",
    ]),
    "never-came": (views.never_came, [
        "Exit code 240", "1 of 3 workers ready after 600 s", "Who is missing", "Key refused", "No answer", "timed out", "1 of 3 came",
    ]),
    "lost": (views.lost, ["Running", "Who was lost", "Lost", "Silent", "its address no longer answers", "2 of 4 ready"]),
    "succeeded": (views.succeeded, ["Succeeded", "ended well on 3 workers", "12 of 12 started", "Done", "Ended"]),
    "paused": (views.paused, ["Paused", "`mpiboot resume` starts them again", "Ready"]),
    "incomplete": (views.alone, ["Ready", "No launcher holds train-worker-0 now", "This worker is ready"]),
    "many": (views.many, [
        "4000 ranks on 1000 workers.", "In trouble 3", "Running 997", "rank 2809: SIGSEGV", "Failed", "Lost", "Silent",
    ]),
    "many-waiting": (lambda: views.waiting(1000), [
        "750 of 1000 workers ready.", "Who is missing", "Not tried yet", "and 58 more", "Missing 250",
    ]),
}  # fmt: skip
SCREENS = [
    ("waiting", "light"), ("running", "light"), ("failed", "dark"), ("lost", "light"),
    ("never-came", "light"), ("succeeded", "light"),
    ("paused", "dark"), ("incomplete", "light"), ("many", "light"), ("many", "dark"), ("many-waiting", "dark"),
    ("waiting", "phone"), ("running", "phone"), ("failed", "phone"), ("many", "phone"), ("lost", "phone-dark"),
]  # fmt: skip


@pytest.mark.parametrize(("state", "screen"), SCREENS)
def test_each_state_can_be_read(
    browser: Browser, server: ViewServer, state: str, screen: str
) -> None:
    """Its facts stand there; nothing is too wide, complained about, or keeps anybody out."""
    make, words = STATES[state]
    dark = screen.endswith("dark")
    browser.look(width=PHONE if screen.startswith("phone") else 1280, dark=dark)
    view = make()
    server.show(view, over=view["status"]["outcome"] is not None)
    browser.open(server.url)
    sees(browser, *words)
    assert browser.too_wide() <= 0
    background = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background.strip("rgb()").split(","))) < 384) == dark
    assert browser.unfit() == []
    assert_quiet(browser, server.url)
    if state == "many" and screen != "dark":  # the other pictures are of real jobs, below
        picture(browser, f"{state}-{screen}.png", width=PHONE if screen == "phone" else 1280)


def test_all_parts_can_be_opened(browser: Browser, server: ViewServer) -> None:
    """Plan with its reasons, hostfile, evidence and log: readable and fit for all, once opened."""
    server.show(views.failed(), over=True)
    browser.look(width=PHONE, dark=True)
    browser.open(server.url)
    sees(browser, "Failed")
    for summary in ("plan", "hostfile", "evidence", "log"):
        browser.click(f"#{summary} summary")
    sees(browser, "mpirun --hostfile", "Horovod: threads of a rank use all its CPUs", "host keys of this job",
         "train-worker-0 slots=4", "mpirun ended with 1", "ready 3/3")  # fmt: skip
    assert browser.too_wide() <= 0
    assert browser.unfit() == []
    assert_quiet(browser, server.url)


def test_ranks_that_are_no_neighbours_stay_short(browser: Browser, server: ViewServer) -> None:
    """A worker with every second of 128 ranks says so in a few words; those that failed stand alone."""
    ranks = [views.rank(number) for number in range(0, 128, 2)]
    ranks[3] = views.rank(6, "failed", signal=9)
    server.show(views.view("running", [views.worker(0, slots=64, ranks=ranks)]))
    browser.open(server.url)
    sees(browser, "rank 6: SIGKILL", "ranks 0, 2, 4, ... 126 (63)", "64 slots")


# Live.


def test_the_page_follows_without_being_loaded_again(browser: Browser, server: ViewServer) -> None:
    """From waiting to the end in one page: title, phase, tiles; the change is told to a reader aloud."""
    server.show(views.waiting())
    browser.open(server.url)
    sees(browser, "Waiting", "Live")
    assert browser.driver.title == "Waiting 1/3 - train-launcher - mpiboot"
    browser.run("window.stayed = true")
    server.show(views.running())
    sees(browser, "Running", "12 ranks on 3 workers.")
    assert not browser.text("#missing")
    assert browser.run("return document.getElementById('told').textContent") == "Phase: Running. "
    server.show(views.succeeded(), over=True)
    sees(browser, "Succeeded", "Ended")
    assert browser.driver.title == "Succeeded - train-launcher - mpiboot"
    assert browser.run("return window.stayed")
    assert server.asked.count("/") == 1
    assert server.asked.count("/events") == 1
    assert_quiet(browser, server.url)


def test_the_clock_of_a_phase_goes_on_by_itself(browser: Browser, server: ViewServer) -> None:
    """Between two documents the seconds of the phase are counted, by the launcher's clock."""
    server.show(views.view("running", [views.worker(0)], took_s=(0.1, 0.2, 0.1, 7.0)))
    browser.open(server.url)
    sees(browser, "Running")
    counted = set()

    def check() -> None:
        found = re.fullmatch(r"for (\d+) s, since [\d:]{8}", browser.text("#since"))
        assert found
        counted.add(int(found[1]))
        assert len(counted) == 3

    eventually(check)
    assert counted == set(range(min(counted), min(counted) + 3))
    assert 7 <= min(counted) < 20


def test_a_lost_connection_shows_and_heals(browser: Browser, server: ViewServer) -> None:
    """It says so, says of when the facts are, and goes on by itself once the server answers."""
    server.show(views.waiting())
    browser.open(server.url)
    sees(browser, "Live")
    server.cut()
    sees(browser, "Connection lost. What is shown is of ", "Trying again.")
    assert browser.unfit() == []
    server.show(views.running())
    server.cut(broken=False)
    sees(browser, "Running", "Live")
    assert "Connection lost" not in browser.text()
    assert server.asked.count("/") == 1


# Many workers.


def test_a_thousand_workers_stay_smooth(browser: Browser, server: ViewServer) -> None:
    """They are there at once, and a change of one of them touches its own cell and no other."""
    view = views.many()
    server.show(view)
    browser.open(server.url)
    sees(browser, "4000 ranks")
    cells = "return document.querySelectorAll('#grid .cell').length"
    assert browser.run(cells) == 1000
    first_ms = float(browser.run("return document.documentElement.dataset.drawnMs"))
    assert first_ms < 1500
    browser.run(
        "window.touched = new Set();"
        "new MutationObserver(all => all.forEach(one => touched.add((one.target.closest || (() => 0)).call("
        "one.target, '.cell')))).observe(document.getElementById('grid'), "
        "{subtree: true, childList: true, attributes: true, characterData: true})"
    )
    took = []
    for number in range(5):
        view["workers"][900 + number].update(phase="Failed", lease="lost", reason=f"gone {number}")
        view["workers"][300]["cpu_percent"] = 10.0 * number
        server.show(view)
        sees(browser, f"In trouble {4 + number}")
        took.append(float(browser.run("return document.documentElement.dataset.drawnMs")))
    assert sorted(took)[2] < 200, took
    touched = browser.run("return [...touched].filter(Boolean).map(one => one.worker)")
    assert set(touched) == {f"train-worker-{900 + number}" for number in range(5)}


def test_one_of_a_thousand_is_found(browser: Browser, server: ViewServer) -> None:
    """Those in trouble come first; a filter, a rank's number and a shade show the others."""
    server.show(views.many())
    browser.open(server.url)
    sees(browser, "In trouble 3")
    names = "return [...document.querySelectorAll('#grid .cell')].map(one => one.worker)"
    assert browser.run(names)[:4] == [f"train-worker-{n}" for n in (17, 702, 518, 0)]
    browser.click("#find")
    browser.press("rank 2000")
    sees(browser, "1 of 1000 shown")
    assert browser.run(names) == ["train-worker-500"]
    browser.click("#grid .cell")
    sees(browser, "train-worker-500", "Open MPI 4.1.4", "ranks 2000-2003")
    assert browser.unfit() == []
    browser.press(Keys.ESCAPE)
    eventually(lambda: _assert_equal(browser.text("#detail"), ""))
    browser.run("document.getElementById('find').value = ''")
    browser.click("#find")
    browser.press("worker-99", Keys.BACKSPACE)
    sees(browser, "111 of 1000 shown")
    browser.press(*[Keys.BACKSPACE] * 10)
    browser.click("#kinds button:nth-child(2)")
    sees(browser, "3 of 1000 shown")
    browser.click("#kinds button:nth-child(1)")
    browser.click("#shade option[value=cpu]")
    sees(browser, "80 % of its CPUs busy")
    label = browser.run("return document.querySelector('#grid .cell:nth-child(5)').ariaLabel")
    assert label == "train-worker-1, Running, 92 %"


def _assert_equal(one: object, other: object) -> None:
    assert one == other


# Keyboard.


def test_everything_is_reached_by_keyboard(browser: Browser, server: ViewServer) -> None:
    """Tab goes through the page in reading order; arrows move in the grid, which is one stop."""
    server.show(views.many())
    browser.open(server.url)
    sees(browser, "In trouble 3")
    active = (
        "const e = document.activeElement;"
        "return e.id || (e.closest('section[id], nav[id]') || {}).id + ' ' + e.tagName.toLowerCase()"
    )
    stops: list[str] = []
    for _ in range(40):
        browser.press(Keys.TAB)
        stop = browser.run(active)
        stops.append(stop)
        if stops.count(stops[0]) == 2:  # the link in the footer, the last of all
            break
    assert stops == [
        "undefined a", "nav a", "nav a", "nav a", "nav a",
        "workers button", "workers button", "workers button", "find", "form", "shade", "workers button",
        "stderr", "plan summary", "hostfile summary", "log summary", "undefined a",
    ]  # fmt: skip
    browser.run("document.querySelector('#grid .cell').focus()")
    browser.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_LEFT, Keys.ENTER)
    eventually(lambda: _assert_shown(browser), 5)
    chosen = browser.run("return document.querySelector('.cell[aria-pressed=true]').worker")
    assert chosen == browser.run("return document.activeElement.worker")
    browser.press(Keys.ESCAPE)
    assert browser.run("return document.activeElement.worker") == chosen
    browser.run("document.querySelector('#plan summary').focus()")
    browser.press(Keys.ENTER)
    sees(browser, "The call", "the MPI found here")


def _assert_shown(browser: Browser) -> None:
    assert browser.text("#detail")


# Hostile.


def test_hostile_text_stays_text(browser: Browser, server: ViewServer) -> None:
    """Markup in any field is shown as it is, and nothing of it runs or is fetched."""
    view = views.failed()
    _poison(view, HOSTILE)
    view["workers"].append({**views.worker(7), "name": "__proto__"})
    server.show(view, over=True)
    browser.open(server.url)
    browser.click("#plan summary")
    browser.click("#hostfile summary")
    sees(browser, HOSTILE, "__proto__")
    for part in (
        "#from",
        "#command",
        "#failures",
        "#tiles",
        "#stderr",
        "#plan",
        "#hostfile",
    ):
        assert HOSTILE in browser.text(part), part
    assert browser.run("return window.hit") is None
    assert (
        browser.run("return document.querySelectorAll('img, iframe, object, script').length") == 1
    )
    assert_quiet(browser, server.url)


def _poison(value: Any, text: str) -> None:
    """Put a text behind each text of a document that is not one of a fixed set of words."""
    fixed = ("at", "since", "began", "state", "phase", "stage", "lease", "kind", "fault", "role")
    for key, one in list(value.items() if isinstance(value, dict) else enumerate(value)):
        if isinstance(one, str) and key not in fixed:
            value[key] = one + text
        elif isinstance(one, (dict, list)):
            _poison(one, text)


def test_the_policy_stops_what_the_page_has_not_brought(
    browser: Browser, server: ViewServer
) -> None:
    """A script that gets in does not run, and nobody else can be told anything."""
    server.show(views.running())
    browser.open(server.url)
    sees(browser, "Running")
    assert browser.complaints() == []
    browser.run(
        "const s = document.createElement('script'); s.textContent = 'window.hit = 1'; document.body.append(s);"
        "const d = document.createElement('div'); d.innerHTML = '<img src=\"data:,\" onerror=\"window.hit = 1\">';"
        "document.body.append(d); fetch('http://127.0.0.1:1/').catch(() => { window.refused = 1 })"
    )
    eventually(lambda: _assert_equal(browser.run("return window.refused"), 1))
    assert browser.run("return window.hit") is None
    assert "http://127.0.0.1:1/" not in browser.fetched()
    assert len([one for one in browser.complaints() if "Content Security Policy" in one]) >= 3


# Real jobs.


@pytest.fixture
def window() -> Iterator[Callable[..., Window]]:
    """Open the ports of pods; they are closed at the end."""
    made: list[Window] = []

    def make(*of: Any) -> Window:
        made.append(Window(*of))
        return made[-1]

    yield make
    for one in made:
        one.close()


TRAINING = Path(__file__).with_name("programs") / "training.py"


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """What /srv is in all pods of a training: its program, and what tells it to stop."""
    made = tmp_path / "app"
    made.mkdir()
    shutil.copy(TRAINING, made / "train.py")
    return made


def train(agents: Agents, app: Path, *, there: int = 3, **env: str) -> Agent:
    """Start a training on three workers, so many of which are there."""
    names = [f"train-worker-{number}" for number in range(3)]
    for name in names[:there]:
        worker(agents, app, name)
    return agents.launcher(
        "python3", "train.py", "--epochs", "90", hosts=",".join(f"{name}:1" for name in names),
        options=[*QUICK, *(word for name in env for word in ("-x", name))], name="train-launcher",
        env=env, cwd="/srv", binds=(Bind(source=str(app), target="/srv"),),
    )  # fmt: skip


def worker(agents: Agents, app: Path, name: str) -> None:
    """Start a worker of a training."""
    agents.worker(name, binds=(Bind(source=str(app), target="/srv"),))


def picture(browser: Browser, name: str, **look: Any) -> None:
    """Make a picture of docs/page.md anew, where that is asked for."""
    if os.environ.get("SCREENSHOTS") == "write":
        browser.look(**look)
        browser.run("scrollTo(0, 0)")
        browser.picture(DOCS / "pictures" / name)


def test_a_job_from_its_wait_to_its_end(
    agents: Agents, browser: Browser, window: Any, app: Path
) -> None:
    """Who is missing is named; when it comes the job runs, and ends, all in one page."""
    launcher = train(agents, app, there=2)
    launcher.until_stage("waiting", LONG_S)
    url = window(launcher.pod).url
    browser.look()
    browser.open(url)
    waits = ("Waiting", "2 of 3 workers ready.", "Who is missing", "train-worker-2")
    sees(browser, *waits, "Name does not resolve", "heartbeat", "CPU", timeout_s=LONG_S)
    picture(browser, "waiting-light.png")
    browser.run("window.stayed = true")
    worker(agents, app, "train-worker-2")
    runs = ("Running", "3 ranks on 3 workers.", "rank 2", "step 11: loss", "of 3 running")
    sees(browser, *runs, "CPU", "Memory", "heartbeat", timeout_s=LONG_S)
    eventually(lambda: _assert_busy(browser), LONG_S)
    picture(browser, "running-light.png")
    browser.click("#hostfile summary")
    browser.click("#plan summary")
    sees(browser, "train-worker-0 slots=1", "train-worker-2 slots=1", "the MPI found here")
    assert browser.unfit() == []
    browser.run("for (const one of document.querySelectorAll('details')) one.open = false")
    (app / "stop").touch()
    ends = ("Succeeded", "The job ended well on 3 workers.", "3 of 3 started", "Ended")
    sees(browser, *ends, timeout_s=LONG_S)
    picture(browser, "succeeded-light.png")
    assert browser.run("return window.stayed")
    assert_quiet(browser, url)
    assert launcher.wait(LONG_S) == 0
    agents.assert_global()


def _assert_busy(browser: Browser) -> None:
    """Each of three ranks is seen to compute: they share the CPUs of this machine."""
    busy = re.findall(r"CPU\s+(\d+\.\d) of", browser.text("main"))
    assert len([one for one in busy if float(one) > 0]) == 3


def test_a_job_whose_rank_fails(agents: Agents, browser: Browser, window: Any, app: Path) -> None:
    """The first failing rank, its host, its code and its last words stand there; no word is markup."""
    launcher = train(agents, app, NAN_AT="1", FIRST=HOSTILE)
    launcher.until_stage("running", LONG_S)
    url = window(launcher.pod).url
    browser.look(width=PHONE)
    browser.open(url)
    sees(browser, "Running", HOSTILE, timeout_s=LONG_S)
    sees(browser, "step 11: loss", timeout_s=LONG_S)
    (app / "stop").touch()
    fails = ("Failed", "What failed first", "rank 1 on train-worker-1 ended with 1", "Exit code 1")
    sees(browser, *fails, "ValueError: loss is nan at step", timeout_s=LONG_S)
    assert browser.run("return window.hit") is None
    assert browser.too_wide() <= 0
    assert browser.unfit() == []
    assert_quiet(browser, url)
    picture(browser, "failed-phone.png", width=PHONE)
    picture(browser, "failed-dark.png", dark=True)
    assert launcher.wait(LONG_S) == 1
    agents.assert_global(raising=[launcher])


def test_a_job_that_loses_a_worker(
    agents: Agents, browser: Browser, window: Any, app: Path
) -> None:
    """The worker is named, and said to be lost, with the reason, though mpirun may say less."""
    launcher = train(agents, app)
    launcher.until_stage("running", LONG_S)
    url = window(launcher.pod).url
    browser.look(dark=True)
    browser.open(url)
    sees(browser, "3 ranks on 3 workers.", timeout_s=LONG_S)
    agents.all[1].pod.kill()
    sees(browser, "Failed", "train-worker-1 was lost", "Lost", "Exit code 241", timeout_s=LONG_S)
    assert browser.unfit() == []
    assert_quiet(browser, url)
    picture(browser, "lost-light.png")
    picture(browser, "lost-phone-dark.png", width=PHONE, dark=True)
    assert launcher.wait(LONG_S) == 241
    agents.assert_global()
