"""`[agents.NAME]`: what is wrong with it is found when it is loaded, and a change of it is never taken unasked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from remit import Agent, AgentSpec, ScriptedModel, skill
from remit.deployment.agents import check_calls
from remit.deployment.changes import compare
from remit.deployment.config import Config
from remit.deployment.layers import combine
from remit.deployment.load import parse_config
from remit.errors import DeploymentError, PolicyError, RemitError, UsageError
from remit.loop.guards import Limits
from remit.packs.lock import Lock
from tests.delegation_parts import Cast, give, spec
from tests.in_process import Here


def config(text: str) -> Config:
    return parse_config("policy = 1\n" + text, Path("remit.toml"))


def agents(**calls: list[str]) -> str:
    return "".join(f'[agents.{name}]\ndescription = "x"\nagents = {called}\n' for name, called in calls.items())


def check(text: str, top: Any = None, depth: int = 3) -> None:
    check_calls(config(text).agents, top, depth, wrong=DeploymentError)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (agents(a=["a"]), "circle: a -> a"),
        (agents(a=["b"], b=["c"], c=["a"]), "circle: a -> b -> c -> a"),
        (agents(a=["b"], b=["c"], c=["b"]), "circle: b -> c -> b"),
        (agents(a=["writr"], writer=[]), "'writr', and there is no such agent; did you mean 'writer'"),
        (agents(a=["b"], b=["c"], c=["d"], d=[]), "assistant -> a -> b -> c -> d is 4 deep"),
        (agents(assistant=[]), "two agents are called assistant"),
    ],
)
def test_loops_depth_and_unknown_names_are_refused_with_the_path(text: str, said: str) -> None:
    with pytest.raises(DeploymentError, match=said.replace("(", r"\(")):
        check(text)


def test_control_what_is_neither_loads() -> None:
    check(agents(a=["b", "c"], b=["c"], c=[]))
    check(agents(a=["b"], b=["c"], c=["d"], d=[]), depth=4)
    check(agents(a=["b"], b=["c"], c=["d"], d=[]), top=("b",))
    check("")


def test_many_paths_are_checked_in_no_time() -> None:
    layers = {f"a{n}{k}": [f"a{n + 1}{m}" for m in "xyz"] if n < 9 else [] for n in range(10) for k in "xyz"}
    check(agents(**layers), depth=10)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('[agents.a]\nprompt = "x"\n', "agents.a.description"),
        ('[agents.A]\ndescription = "x"\n', "agents"),
        ('[agents.a]\ndescription = "x"\nskils = []\n', "did you mean `skills`"),
        ('[agents.a]\ndescription = "x"\nbudget = { max_stepps = 1 }\n', "did you mean `max_steps`"),
        ('[agents.a]\ndescription = "x"\n[agents.a.grant.files]\nfs.raed = []\n', "did you mean `read`"),
    ],
)
def test_a_wrong_key_is_named_with_the_nearest_one(table: str, said: str) -> None:
    with pytest.raises(DeploymentError, match=said):
        config(table)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("", agents(a=[]), "agent a is new"),
        (agents(a=[]), "", "agent a is gone"),
        (agents(a=[]), agents(a=["b"], b=[]), "agents.a.agents"),
        (agents(a=[]), agents(a=[]) + 'prompt = "x"\n', "agents.a.prompt"),
        (agents(a=[]), agents(a=[]) + "skills = []\n", "agents.a.skills"),
        (agents(a=[]), agents(a=[]) + "budget.max_steps = 3\n", "agents.a.budget"),
        (agents(a=[]), agents(a=[]) + "[agents.a.grant.files]\nnet = []\n", "agents.a.grant"),
        (agents(a=[]), agents(a=[]) + '[agents.a.model]\nname = "m"\n', "agents.a.model"),
        ("", "[agent]\nagents = []\n", "agent.agents"),
    ],
)
def test_no_change_of_an_agent_can_be_ranked(old: str, new: str, line: str) -> None:
    changes = compare(config(old), Lock(), config(new), Lock())
    assert changes.rank == "unranked" and changes.needs_trust
    assert any(line in change.line for change in changes.changes)


def test_a_greater_depth_widens_and_a_smaller_one_narrows() -> None:
    deep = "[defaults]\nmax_depth = 5\n"
    assert compare(config(""), Lock(), config(deep), Lock()).rank == "widens"
    assert compare(config(deep), Lock(), config(""), Lock()).rank == "narrows"


def test_a_managed_file_only_tightens() -> None:
    own = agents(a=["b", "c"], b=[], c=[]).replace(
        '[agents.a]\ndescription = "x"\n',
        '[agents.a]\ndescription = "x"\nskills = ["files.read_file", "calc"]\nbudget.max_steps = 9\n',
    )
    managed = (
        '[agents.a]\ndescription = "y"\nagents = ["b"]\nskills = ["files"]\n'
        "budget = { max_steps = 4, max_tokens = 10 }\n"
        '[agents.new]\ndescription = "z"\n[agent]\nagents = ["a"]\n[defaults]\nmax_depth = 1\n'
        "[agents.b]\ndescription = 'q'\nskills = ['calc']\n[agents.b.grant.files]\nnet = []\n"
    )
    layers = combine(config(managed), config(own))
    a, b = layers.config.agents["a"], layers.config.agents["b"]
    assert (a.agents, a.skills, a.description) == (("b",), ("files.read_file",), "y")
    assert (a.budget.max_steps, a.budget.max_tokens) == (4, 10)
    assert b.skills == ("calc",) and layers.upper_agents["b"].grant["files"].net == ()
    assert "new" not in layers.config.agents and layers.config.agent.agents == ("a",)
    assert layers.config.defaults.max_depth == 1


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Here:
    return Here(place=tmp_path_factory.mktemp("agents")).make("calc", "files")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('skills = ["calculator"]', "pack 'calculator'"),
        ('skills = ["clac"]', "did you mean 'calc'"),
        ('skills = ["files.raed_file"]', "did you mean 'files.read_file'"),
        ("grant.fles.net = []", "did you mean 'files'"),
        ('grant.files.net = ["evil.example:443"]', "granted more of pack files"),
        ('agents = ["me"]', "circle: me -> me"),
    ],
)
def test_a_deployment_with_a_wrong_agent_does_not_open(place: Here, table: str, said: str) -> None:
    before = place.config
    try:
        (place.folder / "remit.toml").write_text(f'{before}\n[agents.me]\ndescription = "x"\n{table}\n')
        place.remit("trust", "--yes", expect=None)
        ran = place.remit("policy", "check", expect=None)
        assert ran.code == 1 and said in ran.err
    finally:
        (place.folder / "remit.toml").write_text(before)
        place.remit("trust", "--yes", expect=None)


@skill(effect="read")
def one() -> str:
    """One."""
    return "1"


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        ([spec("a"), spec("a")], "two agents are called a"),
        ([spec("assistant")], "two agents are called assistant"),
        ([spec("a", agents=["a"])], "circle: a -> a"),
        ([spec("a", agents=["bb"]), spec("b")], "did you mean"),
        ([spec("a", skills=["local.won"])], "did you mean 'local.one'"),
        ([spec("A")], "AgentSpec 'A'"),
        ([spec("a", description="")], "description"),
        ([spec("a", grant={"files": {"fs.read": []}})], "no deployment"),
        ([spec("a", agents=["b"]), spec("b", agents=["c"]), spec("c", agents=["d"]), spec("d")], "4 deep"),
    ],
)
def test_what_is_wrong_in_code_is_the_program_s_mistake(specs: list[AgentSpec], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Agent(model=ScriptedModel([]), skills=(one,), agents=specs)


def test_a_cost_limit_needs_a_price() -> None:
    with pytest.raises(UsageError, match="the price of small is not known"):
        wanted = spec("a", model="small", limits=Limits(cost=1.0))
        Agent(model=ScriptedModel([]), skills=(one,), agents=[wanted])


def test_depth_is_held_at_run_time_as_well() -> None:
    """The last agent that the depth allows is offered nobody, whatever it may delegate to."""
    from remit.delegation.roster import Roster, roster_of

    specs = [spec("a", agents=["b"]), spec("b", agents=["c"]), spec("c")]
    roster = roster_of(Config(), specs, name="")
    flat = Roster(name=roster.name, agents=roster.agents, top=roster.top, max_depth=1)
    assert flat.callable_by(("assistant",)) == ("a", "b", "c")
    assert flat.callable_by(("a", "assistant")) == ()
    assert roster.callable_by(("a", "assistant")) == ("b",)


def test_an_agent_of_the_file_is_asked_like_one_of_the_program(tmp_path: Path) -> None:
    from remit.deployment.init import init
    from remit.deployment.trust import trust

    init(tmp_path, enforcement="available").apply()
    file = tmp_path / "remit.toml"
    tables = (
        '[agents.filed]\ndescription = "F."\nprompt = "Be brief."\nbudget = { max_steps = 2 }\n'
        '[agents.other]\ndescription = "O."\n'
    )
    file.write_text(file.read_text() + '\n[host_skills]\nallow = ["local.one"]\n' + tables)
    trust(tmp_path)
    cast = Cast(top=[give("filed"), give("coded"), "end"], filed=["from the file"], coded=["from the program"])
    with Agent(tmp_path, model=ScriptedModel(cast), skills=(one,), agents=[spec("coded")]) as agent:
        assert agent.skills["remit.delegate"].schema["properties"]["agent"]["enum"] == ["coded", "filed", "other"]
        assert [call.value for call in agent.run("go").calls] == ["from the file", "from the program"]
    assert cast.requests["filed"][0].messages[0].content.startswith("Be brief.")
    with pytest.raises(RemitError, match="two agents are called filed"):
        Agent(tmp_path, model=ScriptedModel([]), skills=(one,), agents=[spec("filed")])
    assert issubclass(PolicyError, RemitError)


@pytest.mark.parametrize(
    ("argument", "fits"),
    [
        ('agent = { eq = "me" }', True),
        ('agnet = { eq = "me" }', False),
        ('agent = { eq = "you" }', False),
        ("task = { len = { gt = 500 } }", True),
    ],
)
def test_a_rule_about_delegating_that_can_never_match_does_not_load(tmp_path: Path, argument: str, fits: bool) -> None:
    from remit.deployment.deployment import Deployment
    from remit.deployment.init import init
    from remit.deployment.trust import trust

    init(tmp_path, enforcement="available").apply()
    file = tmp_path / "remit.toml"
    match = f'{{ skill = "remit.delegate", arguments = {{ {argument} }} }}'
    rule = f'[[rule]]\nid = "r"\nverdict = "deny"\nmatch = {match}\n'
    file.write_text(file.read_text() + '[agents.me]\ndescription = "x"\n' + rule)
    try:
        trust(tmp_path)
        Deployment.open(tmp_path).close()
        assert fits
    except PolicyError as error:
        assert not fits and "remit.delegate" in str(error)
