// What the service answers with, as far as the page uses it. Every text in here may come from untrusted code.

export interface Session {
  project: string;
  is_admin: boolean;
  csrf_token: string;
  expires_at: string;
  version?: string;
}

export interface Conversation {
  conversation_id: string;
  agent: string | null;
  created_at: string;
  active_at: string;
  expires_at: string;
  run_count: number;
  file_count: number;
  bytes: number;
}

export type Outcome = 'ok' | 'error' | 'timeout' | 'out_of_memory' | 'output_limit' | 'killed' | 'internal';

export interface Usage {
  start_ms?: number;
  wall_ms: number;
  cpu_ms: number;
  max_memory_bytes: number;
  queue_ms?: number;
}

export interface RunSummary {
  run_id: string;
  conversation_id: string;
  agent: string | null;
  sandbox_id: string;
  outcome: Outcome;
  exit_code: number;
  stateful: boolean;
  started_at: string;
  result_count: number;
  file_count: number;
  usage: Usage;
}

export interface KeptFile {
  file_id: string;
  name: string;
  size: number;
  media_type: string;
  url?: string | null;
  content_base64?: string;
}

export type MimeMap = Record<string, unknown>;

export interface Reply {
  agent: string | null;
  conversation_id: string | null;
  run_id: string;
  sandbox_id: string;
  outcome: Outcome;
  exit_code: number;
  stdout: string;
  stderr: string;
  stdout_truncated: boolean;
  stderr_truncated: boolean;
  results: MimeMap[];
  files: KeptFile[];
  files_skipped: {name: string; size: number; reason: string}[];
  files_skipped_unnamed?: number;
  files_complete?: boolean;
  session: {stateful: boolean; restarted: boolean; message: string | null};
  usage: Usage;
  hint: string | null;
  code?: string;
  started_at?: string;
}

export interface Agent {
  name: string;
  image: string | null;
  created_at: string;
  updated_at: string;
  tools?: {name: string; entrypoint: string; description?: string}[];
  stateful?: boolean;
  timeout_s?: number;
}

export interface LiveSession {
  project: string;
  conversation_id: string;
  agent: string;
  state: string;
  created_ms: number;
  idle_s: number;
  calls: number;
  waiting: number;
}

export interface SessionList {
  sessions: LiveSession[];
  limits: {per_project: number; platform: number; platform_live: number};
  idle_seconds: number;
}

export interface Percentiles {
  p50: number;
  p95: number;
  p99: number;
}

export interface Minute {
  at: string;
  runs: number;
  outcomes: Partial<Record<Outcome, number>>;
  wall_ms: Percentiles | null;
  start_ms: Percentiles | null;
}

export interface Status {
  ready: boolean;
  version: string;
  uptime_s: number;
  stopping: boolean;
  pool: {
    target: number;
    parked: number;
    creating: number;
    created_total: number;
    failed_total: number;
    warm_claims_total: number;
    cold_claims_total: number;
  };
  runs: {
    running: number;
    max_concurrent: number;
    queued: number;
    queue_max: number;
    refused_total: number;
    expired_total: number;
  };
  template: {state: string; generation: number};
  sessions: {live: number; max: number; per_project_max: number; list: LiveSession[]};
  sandboxes: {alive: number; max: number};
  activity?: {minutes: Minute[]};
}

export interface Environment {
  python?: unknown;
  limits: {
    timeout_s: number;
    timeout_max_s: number;
    memory_bytes: number;
    output_max_bytes: number;
    file_bytes: number;
    input_files: number;
    body_bytes: number;
  };
}

export interface Project {
  name: string;
  created_at: string;
}

export interface Key {
  id: string;
  project: string;
  label: string;
  hint: string;
  created_at: string;
}
