-- The file lessons.sqlite as version 0.1.0 wrote it, with invented rows.
CREATE TABLE lesson (
    id text primary key,
    repository text not null,
    fingerprint text not null,
    error text,
    pull_request integer,
    created_at text not null,
    value text not null
) strict;
CREATE INDEX lesson_by_fingerprint on lesson (repository, fingerprint);
CREATE INDEX lesson_by_error on lesson (repository, error);
CREATE INDEX lesson_by_pull_request on lesson (repository, pull_request);
CREATE VIRTUAL TABLE lesson_words using fts5 (id unindexed, words, tokenize = 'porter unicode61');
INSERT INTO lesson (id, repository, fingerprint, error, pull_request, created_at, value) VALUES ('m-0001', '42', '0123456789abcdef0123456789abcdef', 'AssertionError', NULL, '2026-01-02T03:04:05+00:00', '{"id":"m-0001","mission_id":"m-0001","created_at":"2026-01-02T03:04:05+00:00","repository_id":"42","fingerprint":"0123456789abcdef0123456789abcdef","outcome":"FIXED","error":"AssertionError","tests":["tests/test_math.py::test_add"],"files":["calculator.py"],"rung":1,"template":"swap_operator","sentence":"swap_operator in calculator.py fixed test_add","keywords":["calculator","add","sum"],"fate":"unknown","pull_request":null,"confidence":null}');
INSERT INTO lesson (id, repository, fingerprint, error, pull_request, created_at, value) VALUES ('m-0002', '42', 'x', 'AssertionError', NULL, '2026-01-02T03:04:05+00:00', '{"id":"m-0002","mission_id":"m-0001","created_at":"2026-01-02T03:04:05+00:00","repository_id":"42","fingerprint":"x","outcome":"FIXED","error":"AssertionError","tests":["tests/test_math.py::test_add"],"files":["calculator.py"],"rung":1,"template":"swap_operator","sentence":"quotes '' \" and → survive","keywords":["calculator","add","sum"],"fate":"unknown","pull_request":null,"confidence":null}');
INSERT INTO lesson_words (id, words) VALUES ('m-0001', 'calculator add sum swap_operator swap operator calculator fixed test_add add');
INSERT INTO lesson_words (id, words) VALUES ('m-0002', 'calculator add sum quotes survive');
