-- The file ledger.sqlite as version 0.1.0 wrote it, with invented rows.
CREATE TABLE call (
    id integer primary key, mission text not null, key text not null, repository text not null,
    pull_request text not null, installation text not null, day text not null,
    stage text not null, model text not null, trouble text, attempts integer not null default 0,
    counted real not null, cost real, open integer not null default 1,
    input_tokens integer not null default 0, output_tokens integer not null default 0,
    cache_read_tokens integer not null default 0, cache_write_tokens integer not null default 0,
    reasoning_tokens integer not null default 0, answer text
) strict;
CREATE INDEX call_by_mission on call (mission, key);
CREATE INDEX call_by_pull_request on call (repository, pull_request);
CREATE INDEX call_with_answer on call (day) where answer is not null;
CREATE INDEX call_by_day on call (day, repository);
INSERT INTO call (id, mission, key, repository, pull_request, installation, day, stage, model, trouble, attempts, counted, cost, open, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, answer) VALUES (1, 'm-1', 'one', 'acme/shop', '7', '', '2026-01-02', 'fix', 'anthropic:strong', NULL, 1, 0.25, 0.25, 0, 900, 100, 0, 0, 0, '{"text":"type: plan_task","finish":"stop","usage":{"input_tokens":900,"output_tokens":100,"cache_read_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0},"model":"","request_id":"","attempts":1,"latency_s":0.0,"cost_usd":null}');
INSERT INTO call (id, mission, key, repository, pull_request, installation, day, stage, model, trouble, attempts, counted, cost, open, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, answer) VALUES (2, 'm-1', 'two', 'acme/shop', '7', '', '2026-01-02', 'fix', 'anthropic:strong', NULL, 1, 0.1, NULL, 0, 900, 100, 0, 0, 0, '{"text":"type: plan_task","finish":"stop","usage":{"input_tokens":900,"output_tokens":100,"cache_read_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0},"model":"","request_id":"","attempts":1,"latency_s":0.0,"cost_usd":null}');
INSERT INTO call (id, mission, key, repository, pull_request, installation, day, stage, model, trouble, attempts, counted, cost, open, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, answer) VALUES (3, 'm-1', 'open', 'acme/shop', '7', '', '2026-01-02', 'fix', 'anthropic:strong', NULL, 0, 0.1, NULL, 1, 0, 0, 0, 0, 0, NULL);
