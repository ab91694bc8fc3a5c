// What the service answers, as types. Names are the service's own; fields that it gets later are there as well,
// untyped.

export type Outcome = "ok" | "error" | "timeout" | "out_of_memory" | "output_limit" | "killed" | "internal";

export interface Usage {
  wall_ms: number;
  cpu_ms: number;
  max_memory_bytes: number;
  start_ms?: number | null;
  queue_ms?: number | null;
  create_ms?: number | null;
}

/** What a run says of its session. `message` is what a model should know, such as that variables were lost. */
export interface SessionState {
  stateful: boolean;
  restarted: boolean;
  message: string | null;
}

/** A file that a run has written. Its content is in `content_base64`, or is fetched: `client.files.get(file)`. */
export interface RunFile {
  file_id: string;
  /** The path below the working directory, as the code chose it: no path to be trusted. */
  name: string;
  size: number;
  media_type: string;
  sha256: string;
  content_base64?: string;
  url?: string | null;
  /** These are of a file in the list of a conversation. */
  run_id?: string;
  conversation_id?: string;
  created_at?: string;
  /** No later run wrote a file of this name. */
  latest?: boolean;
}

export interface SkippedFile {
  name: string;
  size: number;
  reason: string;
}

/** MIME types, and text or base64. */
export type Result = Record<string, string>;

/** The reply to a run. A failed snippet is a result: see `outcome`. */
export interface Run {
  run_id: string;
  sandbox_id: string;
  agent: string | null;
  conversation_id: string | null;
  outcome: Outcome;
  exit_code: number;
  stdout: string;
  stderr: string;
  stdout_truncated: boolean;
  stderr_truncated: boolean;
  results: Result[];
  files: RunFile[];
  files_skipped: SkippedFile[];
  files_skipped_unnamed: number;
  files_complete: boolean;
  session: SessionState;
  usage: Usage;
  hint: string | null;
}

/** A run that was kept, with its code; or a call, whose `result`, `error` and `egress` are there as well. */
export interface KeptRun extends Run {
  code: string;
  started_at: string;
  tool?: string;
  arguments?: Record<string, unknown>;
  result?: unknown;
  error?: RemoteError | null;
  egress?: Egress[];
}

/** A run in the list of a conversation. */
export interface RunSummary {
  run_id: string;
  conversation_id: string;
  sandbox_id: string;
  agent: string | null;
  /** Of a call: which. */
  tool: string | null;
  outcome: Outcome;
  exit_code: number;
  stateful: boolean;
  started_at: string;
  result_count: number;
  file_count: number;
  usage: Usage;
}

export interface RemoteError {
  type: string;
  message: string;
  traceback: string | null;
  /** The type is one of Python's own. */
  builtin: boolean;
}

/** One connection or name lookup that a tool call has tried. */
export interface Egress {
  host: string | null;
  address: string | null;
  port: number;
  decision: "allowed" | "refused" | "failed";
  rule: string;
  bytes: number;
  bytes_sent: number;
  bytes_received: number;
}

/** The reply to a tool call. An exception of the tool is a result: see `error`. */
export interface Call<T = unknown> {
  run_id: string;
  sandbox_id: string;
  agent: string;
  tool: string;
  conversation_id: string | null;
  outcome: Outcome;
  exit_code: number;
  result: T | null;
  error: RemoteError | null;
  stdout: string;
  stderr: string;
  stdout_truncated: boolean;
  stderr_truncated: boolean;
  usage: Usage;
  egress: Egress[];
  egress_complete: boolean;
  hint: string | null;
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

/** A live interpreter of a conversation. */
export interface Session {
  project: string;
  conversation_id: string;
  agent: string;
  state: string;
  created_ms: number;
  idle_s: number;
  /** Runs that it has had, and that wait for their turn. */
  calls: number;
  waiting: number;
}

/** What a tool is for a service or a model: its parameters are JSON Schema. */
export interface Tool {
  name: string;
  description?: string;
  entrypoint?: string;
  parameters?: Record<string, unknown>;
  [more: string]: unknown;
}

/** An agent, as it is in a list. */
export interface AgentSummary {
  name: string;
  image: string | null;
  created_at: string;
  updated_at: string;
}

export interface Agent extends AgentSummary {
  tools: Tool[];
  stateful: boolean;
  timeout_s: number;
  image_digest: string | null;
  image_bytes: number | null;
  /** Version of the image's Python. */
  python: string | null;
}

/** An agent's settings; what holds because of them; and where one has less effect than it says. */
export interface AgentEnv {
  env: Record<string, string>;
  effective: { stateful: boolean; timeout_s: number };
  warnings: string[];
}

/** What snippets find. */
export interface Environment {
  python: string;
  implementation: string;
  source: string;
  as_promised: boolean;
  machine: string;
  packages: Record<string, string>;
  limits: Record<string, number>;
  /** Of tool calls: what differs. */
  call_limits: Record<string, number>;
  /** Whether an Idempotency-Key is heeded. */
  idempotency_key?: boolean;
}

/** News of a run, as they happen; the last is `done`, with the whole reply. */
export type RunEvent =
  | { type: "start"; run_id: string; sandbox_id: string }
  | { type: "stdout"; text: string }
  | { type: "stderr"; text: string }
  | { type: "result"; data: Result }
  | { type: "file"; file: RunFile }
  | { type: "done"; run: Run };
