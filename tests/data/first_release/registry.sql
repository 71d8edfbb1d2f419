-- The file registry.sqlite as version 0.1.0 wrote it, with invented rows.
CREATE TABLE live (
    id text primary key, repository integer not null, branch text, pull_request integer, since text not null,
    ended integer not null, value text not null
) strict;
CREATE INDEX live_by_repository on live (repository);
CREATE TABLE attempt (
    repository integer not null, branch text not null, mission text not null,
    primary key (repository, branch, mission)
) strict;
CREATE TABLE fix (
    id text primary key, repository integer not null, fingerprint text not null, patch text not null,
    state text not null, pull_request integer, at text not null, value text not null
) strict;
CREATE INDEX fix_by_repository on fix (repository, fingerprint);
CREATE INDEX fix_by_patch on fix (repository, patch);
CREATE TABLE proposal (
    id text not null, repository integer not null, pull_request integer, decided text not null, at text not null,
    value text not null, primary key (repository, id)
) strict;
CREATE TABLE switch (
    repository integer not null, pull_request integer not null, value text not null,
    primary key (repository, pull_request)
) strict;
CREATE TABLE installation (id integer primary key, value text not null) strict;
INSERT INTO live (id, repository, branch, pull_request, since, ended, value) VALUES ('m-2', 42, 'other', 7, '2026-01-02T03:04:05+00:00 m-2', 0, '{"mission_id":"m-2","repository":{"id":42,"owner":"octo","name":"calculator","installation_id":7,"default_branch":"main","private":false},"head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","branch":"other","pull_request":7,"requested_by":null,"since":"2026-01-02T03:04:05+00:00 m-2"}');
INSERT INTO live (id, repository, branch, pull_request, since, ended, value) VALUES ('m-1', 42, 'main', NULL, '2026-01-02T03:04:05+00:00 m-1', 0, '{"mission_id":"m-1","repository":{"id":42,"owner":"octo","name":"calculator","installation_id":7,"default_branch":"main","private":false},"head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","branch":"main","pull_request":null,"requested_by":null,"since":"2026-01-02T03:04:05+00:00 m-1"}');
INSERT INTO live (id, repository, branch, pull_request, since, ended, value) VALUES ('m-3', 43, 'main', NULL, '2026-01-02T03:04:05+00:00 m-3', 1, '{"mission_id":"m-3","repository":{"id":43,"owner":"octo","name":"calculator","installation_id":7,"default_branch":"main","private":false},"head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","branch":"main","pull_request":null,"requested_by":null,"since":"2026-01-02T03:04:05+00:00 m-3"}');
INSERT INTO attempt (repository, branch, mission) VALUES (42, 'other', 'm-2');
INSERT INTO attempt (repository, branch, mission) VALUES (42, 'main', 'm-1');
INSERT INTO attempt (repository, branch, mission) VALUES (43, 'main', 'm-3');
INSERT INTO fix (id, repository, fingerprint, patch, state, pull_request, at, value) VALUES ('42:metaagent/main/2:0000000000000000000000000000000000000002', 42, '0123456789abcdef0123456789abcdef', 'pppppppppppppppp', 'open', 2, '2026-01-02T03:04:02+00:00', '{"repository":{"id":42,"owner":"octo","name":"calculator","installation_id":7,"default_branch":"main","private":false},"fingerprint":"0123456789abcdef0123456789abcdef","base_branch":"main","head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","branch":"metaagent/main/2","commit":"0000000000000000000000000000000000000002","patch_id":"pppppppppppppppp","pull_request":2,"for_pull_request":null,"checks":[],"files":{},"mission_id":"m-2","state":"open","taken_over":"","closing":false,"note":"","at":"2026-01-02T03:04:02+00:00","merge_sha":null}');
INSERT INTO fix (id, repository, fingerprint, patch, state, pull_request, at, value) VALUES ('42:metaagent/main/1:0000000000000000000000000000000000000001', 42, '0123456789abcdef0123456789abcdef', 'pppppppppppppppp', 'open', 1, '2026-01-02T03:04:01+00:00', '{"repository":{"id":42,"owner":"octo","name":"calculator","installation_id":7,"default_branch":"main","private":false},"fingerprint":"0123456789abcdef0123456789abcdef","base_branch":"main","head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","branch":"metaagent/main/1","commit":"0000000000000000000000000000000000000001","patch_id":"pppppppppppppppp","pull_request":1,"for_pull_request":null,"checks":[],"files":{},"mission_id":"m-1","state":"open","taken_over":"","closing":false,"note":"","at":"2026-01-02T03:04:01+00:00","merge_sha":null}');
INSERT INTO fix (id, repository, fingerprint, patch, state, pull_request, at, value) VALUES ('42:metaagent/main/3:0000000000000000000000000000000000000003', 42, '0123456789abcdef0123456789abcdef', 'bbbbbbbbbbbbbbbb', 'closed', 3, '2026-01-02T03:04:03+00:00', '{"repository":{"id":42,"owner":"octo","name":"calculator","installation_id":7,"default_branch":"main","private":false},"fingerprint":"0123456789abcdef0123456789abcdef","base_branch":"main","head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","branch":"metaagent/main/3","commit":"0000000000000000000000000000000000000003","patch_id":"bbbbbbbbbbbbbbbb","pull_request":3,"for_pull_request":null,"checks":[],"files":{},"mission_id":"m-3","state":"closed","taken_over":"","closing":false,"note":"","at":"2026-01-02T03:04:03+00:00","merge_sha":null}');
INSERT INTO proposal (id, repository, pull_request, decided, at, value) VALUES ('m-1', 42, 7, '', '2026-01-02 m-1', '{"proposal_id":"m-1","repository":{"id":42,"owner":"octo","name":"calculator","installation_id":7,"default_branch":"main","private":false},"head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","head_branch":null,"pull_request":7,"question":"","changes":[],"at":"2026-01-02 m-1","decided":""}');
INSERT INTO switch (repository, pull_request, value) VALUES (42, 7, '{"repository_id":42,"pull_request":7,"off":true,"by":"ana","at":"2026-01-02T03:04:05+00:00"}');
INSERT INTO installation (id, value) VALUES (5, '{"installation_id":5,"account":"","suspended":true,"removed":false,"permissions":{},"at":""}');
