"""The two roles: the only place where decisions and effects meet."""
