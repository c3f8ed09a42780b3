"""What scontrol prints of budgets."""

from pathlib import Path

import pytest

from spawner.slurm.budgets import Budget, Budgets, are_enforced

GOLDEN = Path(__file__).parents[1] / "golden/slurm-22.05/assoc-mgr.txt"
CONFIG = {
    "AccountingStorageEnforce": "associations,limits,qos,safe",
    "PriorityType": "priority/multifactor",
    "PriorityWeightFairShare": "1000",
}
FACTORS = "normal|1.000000|\nfree|0.000000|\nfirst|1.000000|DenyOnLimit,OverPartQOS\n"
PARTITIONS = """\
PartitionName=jupyter AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A DefaultTime=08:00:00 State=UP
PartitionName=short AllowQos=first,normal AllocNodes=ALL Default=NO QoS=hall DefaultTime=01:00:00
"""


def association(account: str, user: str = "", *, partition: str = "", **limits: str) -> str:
    parent = {"research": "science(2)", "science": "root(1)"}.get(account, "") if not user else ""
    return (
        f"ClusterName=c Account={account} UserName={user and f'{user}(1)'} Partition={partition} "
        f"Priority=0 ID=3 SharesRaw/Norm/Level/Factor=1/0.50/2/0.25 ParentAccount={parent} Lft=2 "
        f"GrpTRESMins={limits.get('group', '')} GrpTRESRunMins={limits.get('running', '')} "
        f"MaxTRESMinsPJ={limits.get('job', '')} MinPrioThresh= Comment=GrpTRESMins=gres/gpu=1(1)"
    )


def qos(name: str, group: str) -> str:
    return f"QOS={name}(1) UsageRaw=0.0 GrpTRESMins={group} GrpTRESRunMins= MaxTRESMinsPJ= "


LINES = "\n".join(
    [
        "Association Records",
        association("root", group="gres/gpu=N(9)"),
        association("science", group="gres/gpu=6000(3000),cpu=N(7)", running="gres/gpu=N(0)"),
        association(
            "research", group="gres/gpu=600(480)", running="gres/gpu=N(60)", job="gres/gpu=300"
        ),
        association("research", "ada", group="mem=N(1)", job="gres/gpu=300"),
        association("research", "ada", partition="dense", group="gres/gpu=5(1)"),
        "QOS Records",
        qos("normal", "gres/gpu=N(3)"),
        qos("free", ""),
        qos("long", "gres/gpu=60(30)"),
        qos("first", "gres/gpu=60(20)"),
        qos("hall", "gres/gpu=900(800)"),
    ]
)


def of_job(**changes: str) -> list[Budget]:
    job = {"user": "ada", "account": "research", "partition": "", "qos": "normal", **changes}
    return list(Budgets.parse(LINES, FACTORS, PARTITIONS, CONFIG).of_job(**job))


def test_what_slurm_22_05_prints_is_understood() -> None:
    budgets = Budgets.parse(GOLDEN.read_text(), "normal|1.000000|\n", "", CONFIG)

    assert budgets.of_job(user="ada", account="research", partition="", qos="normal") == (
        Budget(tres="gres/gpu", of="research", limit_min=600, used_min=2),
    )
    assert (budgets.fair_share("ada", "research"), budgets.problem) == (0.33, "")
    assert budgets.is_safe


def test_a_job_is_charged_to_its_association_and_all_accounts_above_it() -> None:
    assert of_job() == [
        Budget(tres="gres/gpu", of="your part of research", limit_min=300, is_per_job=True),
        Budget(tres="gres/gpu", of="research", limit_min=600, used_min=480, running_min=60),
        Budget(tres="gres/gpu", of="science", limit_min=6000, used_min=3000),
    ]
    assert [budget.limit_min for budget in of_job(partition="dense")] == [5, 600, 6000]
    assert of_job(user="grace") == of_job(account="other") == []


def test_a_budget_of_the_qos_replaces_those_of_accounts_as_in_slurm() -> None:
    assert [(each.of, each.left_min) for each in of_job(qos="long") if not each.is_per_job] == [
        ("the QOS long", 30)
    ]


@pytest.mark.parametrize(
    ("qos_of_job", "of"),
    [("normal", "the QOS hall"), ("long", "the QOS hall"), ("first", "the QOS first")],
)
def test_the_qos_of_a_partition_goes_first_unless_that_of_the_job_does(
    qos_of_job: str, of: str
) -> None:
    groups = [each.of for each in of_job(partition="short", qos=qos_of_job) if not each.is_per_job]

    assert groups == [of]


def test_a_job_that_names_no_partition_has_the_qos_of_the_default_one() -> None:
    default = PARTITIONS.replace("Default=YES QoS=N/A", "Default=YES QoS=hall")
    budgets = Budgets.parse(LINES, FACTORS, default, CONFIG)
    found = budgets.of_job(user="ada", account="research", partition="", qos="normal")

    assert "the QOS hall" in [each.of for each in found]


def test_a_qos_that_costs_nothing_leaves_all_of_a_budget() -> None:
    assert [each.left_min for each in of_job(qos="free")] == [300, 600, 6000]


def test_no_association_in_the_answer_is_a_problem_and_no_absence_of_budgets() -> None:
    assert Budgets.parse("No associations currently cached in Slurm.", "", "", CONFIG).problem


@pytest.mark.parametrize(
    ("changes", "enforced"),
    [
        ({}, True),
        ({"PriorityType": "priority/basic"}, False),
        ({"AccountingStorageEnforce": "associations,qos"}, False),
        ({"AccountingStorageEnforce": "none"}, False),
    ],
    ids=str,
)
def test_budgets_hold_only_where_slurm_enforces_them(
    changes: dict[str, str], enforced: bool
) -> None:
    assert are_enforced(CONFIG | changes) is enforced
