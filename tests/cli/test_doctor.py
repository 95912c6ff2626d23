"""surefoot doctor on files of every kind, and score tables that name their measure."""

import shlex

import pytest

from surefoot import SurefootError, read_scores
from surefoot.cli import main

RUN = "q1 Q0 d1 1 2.5 x\nq1 Q0 d2 2 1.5 x\nq3 Q0 d1 1 1 x\nq3 Q0 d2 2 1 x\n"
QRELS = "q1 0 d1 1\nq1 0 d3 0\nq2 0 d2 0\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.run").write_text(RUN)
    (tmp_path / "new.run").write_text(RUN.replace("2.5", "0.5"))
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "queries.tsv").write_text("q1\tred shoes\nq2\tblue shoes\n")
    (tmp_path / "scores.csv").write_text("topic,old,new\nq1,0.5,0.25\nq2,1,0\n")
    (tmp_path / "trials.csv").write_text("model,item,trial,score\na,1,1,pass\na,1,2,fail\nb,1,1,pass\nb,1,2,pass\n")
    (tmp_path / "page.html").write_text("<html>\n")
    return tmp_path


def doctor(capsys, *files):
    code = main(["doctor", *files])
    return code, capsys.readouterr().out


def test_runs_and_judgments(folder, capsys):
    code, text = doctor(capsys, "old.run", "new.run", "qrels.txt", "queries.tsv")
    assert code == 0
    for line in (
        "old.run: run (TREC)",
        "  old: 2 queries, 4 documents; 2 per query, scores 1 to 2.5",
        "  odd: 2 queries with fewer than 10 documents: q1, q3",
        "  odd: 1 document tied with the one above; ties are broken by document id",
        "qrels.txt: judgments (TREC)",
        "  grades 0 (2), 1 (1)",
        "  odd: 1 query without a relevant document: q2",
        "queries.tsv: texts of queries",
        "odd: old.run: 1 query without judgments, which are left out: q3",
        "odd: old.run: 1 query missing but judged, which count 0: q2",
    ):
        assert line in text.splitlines()


@pytest.mark.parametrize("files", [["old.run", "new.run", "qrels.txt", "queries.tsv"], ["scores.csv"], ["trials.csv"]])
def test_the_commands_run(folder, capsys, files):
    _, text = doctor(capsys, *files)
    commands = [line for line in text.splitlines() if line.startswith("  surefoot ")]
    assert [shlex.split(line)[1] for line in commands] == ["compare", "evaluate", "explore", "gate"]
    assert all("--measure" in line for line in commands)
    assert all(main(shlex.split(line)[1:]) in (0, 1, 3) for line in commands)


def test_scores_of_items(folder, capsys):
    _, text = doctor(capsys, "trials.csv")
    assert "  2 systems (a, b), 1 item" in text
    assert "  repeats: a 2, b 2" in text
    assert "  odd: the table does not name its measure; name it by --measure" in text


def test_tables_that_share_a_system_are_described_apart(folder, capsys):
    code, text = doctor(capsys, "trials.csv", "trials.csv")
    assert code == 0
    assert text.count("  2 systems (a, b), 1 item") == 2
    assert "odd: trials.csv: system 'a' is in trials.csv too" in text


@pytest.mark.parametrize("item", ["task", "question", "prompt"])
def test_tables_of_tasks_and_attempts(item, folder, capsys):
    (folder / "agents.csv").write_text(f"model,{item},score,attempt\na,t1,1,1\na,t1,0,2\nb,t1,1,1\nb,t1,1,2\n")
    _, text = doctor(capsys, "agents.csv")
    assert "  2 systems (a, b), 1 item" in text
    assert "  repeats: a 2, b 2" in text


@pytest.mark.parametrize("item", ["item", "example", "question", "prompt"])
def test_a_task_groups_the_items_of_a_table(item, folder, capsys):
    rows = (f"{system},arithmetic,{name},{score}" for system in "ab" for name, score in (("i1", 1), ("i2", 0)))
    (folder / "items.csv").write_text("\n".join((f"model,task,{item},score", *rows)))
    _, text = doctor(capsys, "items.csv")
    assert "  2 systems (a, b), 2 items" in text
    assert "columns left unread: task" in text


def test_a_file_that_is_not_understood(folder, capsys):
    code, text = doctor(capsys, "page.html", "nowhere.run")
    assert code == 2
    assert "page.html: not understood" in text
    assert "  odd: as judgments: 1: expected 4 fields" in text
    assert "\nnowhere.run: no such file\n" in text
    assert main(["doctor", "-"]) == 2


def test_grades_are_judgments_and_scores_a_run(folder, capsys):
    header = "query-id\tcorpus-id\tscore\n"
    (folder / "a.tsv").write_text(f"{header}q1\td1\t2\nq1\td2\t0\n")
    (folder / "b.tsv").write_text(f"{header}q1\td1\t2.75\nq1\td2\t0.5\n")
    _, text = doctor(capsys, "a.tsv", "b.tsv")
    assert "a.tsv: judgments (delimited text)" in text
    assert "b.tsv: run (delimited text)" in text


def test_tables_name_their_measure(folder, capsys):
    assert main(["scores", "old.run", "new.run", "--qrels", "qrels.txt", "--measure", "RR@10", "-o", "rr.csv"]) == 0
    assert (folder / "rr.csv").read_text().startswith("# measure: RR@10\ntopic,old,new\n")
    for wanted in (None, "RR@10", "recip_rank@10"):
        scores = read_scores("rr.csv", wanted)
        assert scores.notes == ()
    assert read_scores("rr.csv").measure == "RR@10"
    with pytest.raises(SurefootError, match=r"rr.csv: no measure 'AP'; there are RR@10"):
        read_scores("rr.csv", "AP")
    (folder / "rr.csv").write_text("# measure: RR@10\r\ntopic,old\r\nq1,high\r\n")
    with pytest.raises(SurefootError, match=r"rr.csv:3: column 'old'"):
        read_scores("rr.csv")


LETOR = "2 qid:1 1:0.5 2:7 #docid = a inc = 1\n0 qid:1 1:0.25 2:0 #docid = b inc = 0\n"


@pytest.mark.parametrize("text", [LETOR, "# made by hand\n\n" + LETOR.replace("#docid = ", "# "), LETOR.split(" #")[0]])
def test_lines_with_features_are_ranking_data_and_no_judgments(folder, capsys, text):
    (folder / "train.txt").write_text(text)
    code, said = doctor(capsys, "train.txt")
    assert code == 0
    assert said.startswith("train.txt: ranking data (LETOR)\n  1 query, ")
    assert " 2 features\n" in said
    assert "  surefoot train --train train.txt --baseline feature:1 -o model" in said


def test_judgments_of_elasticsearch_have_no_features(folder, capsys):
    (folder / "judged.txt").write_text("# qid:1: rambo\n4 qid:1 # 7555 Rambo\n0 qid:1 # 1370\n")
    code, said = doctor(capsys, "judged.txt")
    assert (code, said.startswith("judged.txt: judgments (judgment list of Elasticsearch LTR)\n")) == (0, True)
