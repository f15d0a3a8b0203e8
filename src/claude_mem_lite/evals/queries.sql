-- Queries for monitoring the memory, as a start for your own:
--
--     sqlite3 -readonly ~/.claude-mem/claude-mem.db < queries.sql
--
-- `claude-mem eval sql` prints this file. Times are UTC texts that sort by time. The queue is in a separate
-- file: sqlite3 -readonly ~/.claude-mem/queue.db "SELECT status, count(*), min(created_at) FROM
-- pending_queue GROUP BY status"

-- Observations per day and writer, and the characters of raw events per token kept.
SELECT substr(created_at, 1, 10) AS day, written_by, count(*) AS observations,
       round(avg(tokens_raw * 3.5 / max(tokens_compressed, 1)), 1) AS chars_a_token
FROM observations
WHERE tier <> '' AND created_at >= strftime('%Y-%m-%d', 'now', '-30 days')
GROUP BY day, written_by ORDER BY day DESC, written_by;

-- Tokens kept of each tool's output, the least compressed first.
SELECT tool_name, count(*) AS observations, sum(tokens_raw) AS tokens_raw, sum(tokens_compressed) AS tokens_kept,
       round(sum(tokens_raw) * 1.0 / max(sum(tokens_compressed), 1), 1) AS times_smaller
FROM observations
WHERE tier <> '' AND created_at >= strftime('%Y-%m-%d', 'now', '-30 days')
GROUP BY tool_name ORDER BY times_smaller;

-- Titles that say little: fewer than 3 words, more than 15, or a full stop at the end.
SELECT id, written_by, title
FROM observations
WHERE tier <> '' AND created_at >= strftime('%Y-%m-%d', 'now', '-30 days')
  AND (length(trim(title)) - length(replace(trim(title), ' ', '')) NOT BETWEEN 2 AND 14 OR title LIKE '%.')
ORDER BY pk DESC LIMIT 50;

-- The ledger: calls, tokens and dollars per day, model and purpose.
SELECT substr(created_at, 1, 10) AS day, json_extract(data, '$.model') AS model,
       json_extract(data, '$.purpose') AS purpose, count(*) AS calls, sum(tokens_in) AS tokens_in,
       sum(tokens_out) AS tokens_out, round(sum(json_extract(data, '$.usd')), 4) AS usd,
       round(avg(duration_ms)) AS mean_ms
FROM event_log
WHERE event_type = 'claude.call' AND created_at >= strftime('%Y-%m-%d', 'now', '-30 days')
GROUP BY day, model, purpose ORDER BY day DESC, usd DESC;

-- Dollars per capture that Claude has rewritten, by model.
SELECT json_extract(data, '$.model') AS model, sum(json_extract(data, '$.captures')) AS captures,
       round(sum(json_extract(data, '$.usd')) / max(sum(json_extract(data, '$.captures')), 1), 6) AS usd_each
FROM event_log
WHERE event_type = 'claude.call' AND json_extract(data, '$.purpose') = 'observations'
GROUP BY model;

-- Results of automatic evaluations per week ([evals] every).
SELECT strftime('%Y-%W', created_at) AS week, json_extract(data, '$.written_by') AS written_by, count(*) AS judged,
       round(avg(json_extract(data, '$.quality')), 3) AS quality,
       round(avg(json_extract(data, '$.info_preservation')), 3) AS info_preservation,
       round(avg(json_extract(data, '$.decision_rationale')), 3) AS decision_rationale
FROM event_log WHERE event_type = 'eval.compression'
GROUP BY week, written_by ORDER BY week DESC;

-- Milliseconds that the rules take to distill an event, by tool.
SELECT json_extract(data, '$.tool_name') AS tool, count(*) AS events, round(avg(duration_ms), 1) AS mean_ms,
       max(duration_ms) AS max_ms
FROM event_log
WHERE event_type = 'compress.done' AND created_at >= strftime('%Y-%m-%d', 'now', '-30 days')
GROUP BY tool ORDER BY mean_ms DESC;

-- State of Claude's rewriting: observations that wait or were turned down, and why.
SELECT upgrade, upgrade_note, count(*) AS observations
FROM observations WHERE upgrade <> ''
GROUP BY upgrade, upgrade_note ORDER BY observations DESC;

-- Pauses of the API per day, and why.
SELECT substr(created_at, 1, 10) AS day, json_extract(data, '$.kind') AS kind, count(*) AS pauses,
       sum(json_extract(data, '$.pause_s')) AS seconds
FROM event_log
WHERE event_type = 'claude.paused' AND created_at >= strftime('%Y-%m-%d', 'now', '-30 days')
GROUP BY day, kind ORDER BY day DESC;

-- What sessions were shown, by the way in which it was shown.
SELECT json_extract(data, '$.via') AS via, count(*) AS blocks, sum(json_extract(data, '$.tokens')) AS tokens,
       sum(json_array_length(data, '$.ids')) AS lines
FROM event_log
WHERE event_type = 'context.shown' AND created_at >= strftime('%Y-%m-%d', 'now', '-30 days')
GROUP BY via;

-- The code map of each project: files, unreadable files, calls, resolved and confirmed calls.
SELECT project_dir, count(*) AS files, sum(error <> '') AS failed, sum(lines) AS lines
FROM source_files GROUP BY project_dir ORDER BY files DESC;

SELECT project_dir, count(*) AS calls, round(avg(resolution <> 'unresolved'), 3) AS resolved_share,
       round(avg(times_confirmed > 0), 3) AS confirmed_share, round(avg(confidence), 3) AS confidence
FROM call_graph GROUP BY project_dir ORDER BY calls DESC;

-- Learnings: how many are active, quarantined, superseded or stale, and what has happened to them.
SELECT project_dir, category, sum(is_active AND superseded_by IS NULL) AS active,
       sum(NOT is_active AND quarantine <> '[]') AS quarantined, sum(superseded_by IS NOT NULL) AS superseded,
       sum(stale <> '') AS stale, round(avg(confidence), 2) AS confidence
FROM learnings GROUP BY project_dir, category ORDER BY active DESC;

SELECT substr(created_at, 1, 10) AS day, event_type, count(*) AS times
FROM event_log
WHERE event_type LIKE 'learning.%' AND created_at >= strftime('%Y-%m-%d', 'now', '-30 days')
GROUP BY day, event_type ORDER BY day DESC, times DESC;

-- Sessions with observations but without a summary.
SELECT id, project_dir, status, last_event_at, observation_count
FROM sessions WHERE summary IS NULL AND observation_count > 0 ORDER BY last_event_at DESC LIMIT 20;
