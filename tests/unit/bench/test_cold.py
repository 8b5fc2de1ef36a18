"""Cold starts of a version that has fewer settings than this one."""

from pathlib import Path

from bench.measures.cold import known_in

ROOT = Path(__file__).parents[3]
OURS = {"TASKMILL_OPEN": "1", "TASKMILL_WEBHOOK_LOOPBACK": "1"}


def test_this_version_gets_all_of_its_settings():
    assert known_in(ROOT, OURS) == OURS


def test_another_version_gets_only_settings_that_it_knows(tmp_path):
    settings = tmp_path / "shared" / "taskmill" / "settings"
    settings.mkdir(parents=True)
    (settings / "known.py").write_text('_FUNCTIONS = " OPENED SHARDS"')
    (settings / "of_types.json").write_text('{"webhook": ["TASKMILL_WEBHOOK_LOOPBACK"]}')
    assert known_in(tmp_path, OURS) == {"TASKMILL_WEBHOOK_LOOPBACK": "1"}
