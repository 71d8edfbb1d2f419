-- The file inbox.sqlite as version 0.1.0 wrote it, with invented rows.
CREATE TABLE delivery (
    id TEXT PRIMARY KEY,
    event TEXT NOT NULL,
    action TEXT,
    received_at TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'submitted', 'ignored', 'duplicate')),
    reason TEXT NOT NULL DEFAULT '',
    mission_id TEXT,
    work TEXT,
    times INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX delivery_by_mission ON delivery (mission_id) WHERE mission_id IS NOT NULL;
CREATE INDEX delivery_by_state ON delivery (state, received_at);
INSERT INTO delivery (id, event, action, received_at, state, reason, mission_id, work, times) VALUES ('d-1', 'check_run', 'completed', '2026-01-02T03:04:05+00:00', 'waiting', '', 'm-0001', '{"mission_id":"m-0001","trigger":"check_run","repository":{"id":42,"owner":"octo","name":"calculator","installation_id":7,"default_branch":"main","private":false},"head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","head_branch":"main","check":{"id":99,"name":"tests","app_slug":"github-actions","conclusion":"failure","details_url":null},"also_red":[],"pull_request":null,"comment":null,"tier":"branch","delivery_id":null,"requested_by":null,"actors":[],"depth":"fix","answer":null,"hint":"","supersedes":null,"folder":null,"command":null,"since":null,"seed":0,"time_limit_s":null,"rungs":[0,1,2]}', 2);
INSERT INTO delivery (id, event, action, received_at, state, reason, mission_id, work, times) VALUES ('d-2', 'ping', NULL, '2026-01-02T03:04:06+00:00', 'ignored', 'nothing to do', NULL, NULL, 1);
INSERT INTO delivery (id, event, action, received_at, state, reason, mission_id, work, times) VALUES ('d-3', 'check_run', 'completed', '2026-01-02T03:04:07+00:00', 'duplicate', 'another check of the same commit asked before', 'm-0001', NULL, 1);
INSERT INTO delivery (id, event, action, received_at, state, reason, mission_id, work, times) VALUES ('d-4', 'check_run', 'completed', '2026-01-02T03:04:08+00:00', 'submitted', '', 'm-9', '{"mission_id":"m-9","trigger":"check_run","repository":{"id":42,"owner":"octo","name":"calculator","installation_id":7,"default_branch":"main","private":false},"head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","head_branch":"main","check":{"id":99,"name":"tests","app_slug":"github-actions","conclusion":"failure","details_url":null},"also_red":[],"pull_request":null,"comment":null,"tier":"branch","delivery_id":null,"requested_by":null,"actors":[],"depth":"fix","answer":null,"hint":"","supersedes":null,"folder":null,"command":null,"since":null,"seed":0,"time_limit_s":null,"rungs":[0,1,2]}', 1);
