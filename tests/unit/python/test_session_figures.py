"""Figures in a session: each is shown once, stays open, and is shown again when it has changed or is shown again."""

import pytest

SETUP = "import matplotlib.pyplot as plt"


@pytest.fixture
def session(runner):
    with runner.open_session() as opened:
        opened.run(SETUP)
        yield opened


def pictures(outcome) -> int:
    assert outcome.exit_code == 0 and outcome.stderr == "", outcome.stderr
    return len(outcome.pictures)


@pytest.mark.parametrize("show", ["plt.show()", "", "fig.show()", "fig"])
def test_once(session, show):
    assert pictures(session.run(f"fig, ax = plt.subplots()\nax.plot([1, 2]);\n{show}")) == 1
    for _ in range(2):
        assert pictures(session.run("x = 1\nprint(plt.get_fignums())")) == 0


def test_a_saved_one_is_not_shown(session):
    assert pictures(session.run("plt.plot([1, 2])\nplt.savefig('a.png')")) == 0
    assert pictures(session.run("x = 1")) == 0


def test_it_stays_open_and_is_shown_when_it_has_changed(session):
    assert pictures(session.run("fig, ax = plt.subplots()\nax.plot([1, 2])\nplt.show()")) == 1
    assert session.run("print(plt.get_fignums(), plt.gcf() is fig)").stdout == "[1] True\n"
    assert pictures(session.run("ax.set_title('now with a title');")) == 1
    assert pictures(session.run("pass")) == 0
    assert pictures(session.run("plt.title('by pyplot')\nplt.show()")) == 1
    assert pictures(session.run("pass")) == 0


def test_a_saved_one_is_shown_when_it_has_changed(session):
    session.run("plt.plot([1, 2])\nplt.savefig('a.png')")
    assert pictures(session.run("plt.title('changed');")) == 1


def test_shown_again_when_asked_for(session):
    session.run("first = plt.figure()\nplt.plot([1])\nsecond = plt.figure()\nplt.plot([2])")
    assert pictures(session.run("plt.show()")) == 1, "the current one"
    assert pictures(session.run("first.show()")) == 1
    assert pictures(session.run("first")) == 1
    assert pictures(session.run("first.show()\nfirst")) == 1, "once a call"


@pytest.mark.parametrize("asked", ["plt.show()", "fig.show()", "fig"])
def test_shown_again_when_asked_for_in_a_call_that_saves_it_too(session, asked):
    assert pictures(session.run("fig, ax = plt.subplots()\nax.plot([1, 2])\nplt.show()")) == 1
    assert pictures(session.run(f"plt.savefig('a.png')\n{asked}")) == 1
    assert pictures(session.run("x = 1")) == 0


def test_a_new_figure_beside_old_ones(session):
    session.run("plt.figure()\nplt.plot([1])\nplt.show()")
    assert pictures(session.run("plt.figure()\nplt.plot([2])\nplt.show()")) == 1


def test_a_closed_one_is_what_its_variable_holds(session):
    session.run("fig = plt.figure()\nplt.plot([1])\nplt.close()")
    assert pictures(session.run("fig")) == 1
    assert pictures(session.run("fig.savefig('b.png')")) == 0


def test_a_long_session_does_not_fill_up_with_figures(session):
    for number in range(25):
        outcome = session.run(f"fig = plt.figure()\nplt.plot([{number}]);")
        assert pictures(outcome) == 1, number
    assert session.run("print(len(plt.get_fignums()), plt.gcf() is fig)").stdout == "10 True\n"


def test_pillow_images_each_time(session):
    for _ in range(2):
        assert pictures(session.run("from PIL import Image\nImage.new('RGB', (20, 20)).show()")) == 1


def test_limits_are_those_of_a_call(session):
    for _ in range(2):
        outcome = session.run("from PIL import Image\nfor number in range(105): Image.new('RGB', (1, 1)).show()")
        assert len(outcome.results) == 100
