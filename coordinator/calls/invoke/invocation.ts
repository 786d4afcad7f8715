import type { Report, TaskCaller, Tell } from '../../kernel/declaration/context.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import type { Upload } from '../../kernel/declaration/upload.ts'

/** Receives the progress of a running call. */
export interface CallListener {
  progress?: Report | undefined
  tell?: Tell | undefined
  /** Runs when the key of the call ends before it has answered. */
  onKeyEnd?: () => void
}

/** Input of a call as the caller sent it, and the cell and the file that came beside it. */
export interface CallInput {
  input: unknown
  cellId?: string | undefined
  upload?: Upload | undefined
}

/** One call, independent of its surface. */
export interface Invocation {
  operation: Operation
  caller: TaskCaller
  /** Reads the input; called when the caller was admitted. Throws `invalid_request`. */
  read: () => CallInput | Promise<CallInput>
  /** The idempotency key, if there is one, and its name on this surface. */
  repeat?: { callKey: unknown; param: string } | undefined
  /** Each ends the call when it aborts. */
  signals: readonly AbortSignal[]
  listener?: CallListener | undefined
  /** True for a call inside another one that was counted for both. */
  isCounted?: boolean | undefined
  /** True for a call inside another one that is carried out once. */
  isOnce?: boolean | undefined
}

/** A call that was admitted, with its parsed input. */
export interface Call extends CallInput {
  operation: Operation
  caller: TaskCaller
  listener?: CallListener | undefined
  /** True when it is carried out once, however often its caller sends it. */
  isOnce?: boolean | undefined
}
