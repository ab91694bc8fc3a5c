// What can go wrong, as classes.

/** Every error of this package. One that the caller caused by an AbortSignal is that signal's reason instead. */
export class CodeSandboxError extends Error {
  override name = "CodeSandboxError";
}

/** The service says no: fields are those of its errors. */
export class ApiError extends CodeSandboxError {
  override name = "ApiError";
  readonly status: number;
  /** Such as "invalid_request", "not_found", "conflict", "rate_limited", "overloaded". */
  readonly type: string;
  /** The field at fault, where one is. */
  readonly param: string | undefined;
  /** Seconds, where the service says how long to wait. */
  readonly retryAfter: number | undefined;
  /** What the service's log calls this request. */
  readonly requestId: string | undefined;

  constructor(status: number, type: string, message: string, more: ApiErrorDetails = {}) {
    super(message);
    this.status = status;
    this.type = type;
    this.param = more.param;
    this.retryAfter = more.retryAfter;
    this.requestId = more.requestId;
  }
}

export interface ApiErrorDetails {
  param?: string | undefined;
  retryAfter?: number | undefined;
  requestId?: string | undefined;
}

/** There is no answer. */
export class ConnectionFailed extends CodeSandboxError {
  override name = "ConnectionFailed";
  /** The request may have arrived, and what it asked for may have happened. */
  readonly mayHaveRun: boolean;

  constructor(message: string, mayHaveRun: boolean, cause?: unknown) {
    super(message, { cause });
    this.mayHaveRun = mayHaveRun;
  }
}
