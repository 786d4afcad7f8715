import { type ErrorReason, isErrorReason } from './error-reasons.ts'

/**
 * Every error that crosses a module border, with its projection onto each surface: the HTTP status,
 * the JSON-RPC code (shoal's own are -32099..-32080), the exit code of a program (sysexits.h) and
 * the `type` of the OpenAI error body.
 */
const table = {
  auth_required: { http: 401, rpc: -32081, exit: 77, type: 'authentication_error' },
  forbidden: { http: 403, rpc: -32082, exit: 77, type: 'permission_error' },
  tier_exceeded: { http: 403, rpc: -32083, exit: 69, type: 'insufficient_quota' },
  tenant_forbidden: { http: 403, rpc: -32084, exit: 77, type: 'permission_error' },
  origin_not_allowed: { http: 403, rpc: -32600, exit: 78, type: 'permission_error' },
  scope_denied: { http: 403, rpc: -32099, exit: 77, type: 'permission_error' },
  not_found: { http: 404, rpc: -32085, exit: 66, type: 'invalid_request_error' },
  model_not_found: { http: 404, rpc: -32085, exit: 66, type: 'invalid_request_error' },
  method_not_allowed: { http: 405, rpc: -32601, exit: 64, type: 'invalid_request_error' },
  request_timeout: { http: 408, rpc: -32091, exit: 75, type: 'timeout_error' },
  conflict: { http: 409, rpc: -32086, exit: 65, type: 'invalid_request_error' },
  payload_too_large: { http: 413, rpc: -32600, exit: 65, type: 'invalid_request_error' },
  unsupported_media_type: { http: 415, rpc: -32600, exit: 65, type: 'invalid_request_error' },
  host_not_allowed: { http: 421, rpc: -32600, exit: 78, type: 'invalid_request_error' },
  invalid_request: { http: 422, rpc: -32602, exit: 65, type: 'invalid_request_error' },
  idempotency_key_reuse: { http: 422, rpc: -32080, exit: 65, type: 'invalid_request_error' },
  unsupported_parameter: { http: 422, rpc: -32602, exit: 65, type: 'invalid_request_error' },
  invalid_model: { http: 422, rpc: -32087, exit: 65, type: 'invalid_request_error' },
  context_length_exceeded: { http: 400, rpc: -32088, exit: 65, type: 'invalid_request_error' },
  upgrade_required: { http: 426, rpc: -32600, exit: 76, type: 'invalid_request_error' },
  rate_limited: { http: 429, rpc: -32089, exit: 75, type: 'rate_limit_error' },
  headers_too_large: { http: 431, rpc: -32600, exit: 65, type: 'invalid_request_error' },
  client_closed: { http: 499, rpc: -32090, exit: 75, type: 'invalid_request_error' },
  internal: { http: 500, rpc: -32603, exit: 70, type: 'server_error' },
  cell_unavailable: { http: 503, rpc: -32093, exit: 69, type: 'service_unavailable' },
  store_unavailable: { http: 503, rpc: -32094, exit: 74, type: 'service_unavailable' },
  coordinator_unavailable: { http: 503, rpc: -32097, exit: 69, type: 'service_unavailable' },
  broker_unavailable: { http: 503, rpc: -32098, exit: 69, type: 'service_unavailable' },
  upstream_unavailable: { http: 503, rpc: -32092, exit: 69, type: 'service_unavailable' },
  draining: { http: 503, rpc: -32095, exit: 75, type: 'service_unavailable' },
  audit_broken: { http: 503, rpc: -32096, exit: 65, type: 'service_unavailable' },
  http_version_unsupported: { http: 505, rpc: -32600, exit: 76, type: 'invalid_request_error' },
  config_invalid: { http: 500, rpc: -32603, exit: 78, type: 'server_error' },
  wrong_usage: { http: 500, rpc: -32603, exit: 64, type: 'invalid_request_error' },
  address_in_use: { http: 500, rpc: -32603, exit: 69, type: 'server_error' },
} as const satisfies Record<string, { http: number; rpc: number; exit: number; type: string }>

export type ErrorCode = keyof typeof table

/** Members of an error beside its code and message. */
export interface ErrorDetails {
  /** Path of the invalid input field: `messages.0.content`. */
  param?: string
  /** Whole seconds the caller should wait; becomes the Retry-After header. */
  retryAfterSeconds?: number
  /** Finer cause than the code. */
  reason?: ErrorReason
  /** Next step, as a command line or a link: `shoal gates approve gate_1`. */
  next?: string
}

interface ErrorOptions extends ErrorDetails {
  cause?: unknown
}

/** The one error class that crosses module borders. Decide by `code`, never by the message. */
export class ShoalError extends Error {
  readonly code: ErrorCode
  readonly param: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly reason: ErrorReason | undefined
  readonly next: string | undefined

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'ShoalError'
    this.code = code
    this.param = options.param
    this.retryAfterSeconds = options.retryAfterSeconds
    this.reason = options.reason
    this.next = options.next
  }
}

/** Details of an error, for another error that passes it on. */
export const detailsOf = ({
  param,
  retryAfterSeconds,
  reason,
  next,
}: ShoalError): ErrorDetails => ({
  ...(param !== undefined && { param }),
  ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  ...(reason !== undefined && { reason }),
  ...(next !== undefined && { next }),
})

/** Details in an error body that came over the wire; those of an unknown form are left out. */
export const detailsIn = (body: {
  param?: unknown
  reason?: unknown
  next?: unknown
}): ErrorDetails => ({
  ...(typeof body.param === 'string' && { param: body.param }),
  ...(isErrorReason(body.reason) && { reason: body.reason }),
  ...(typeof body.next === 'string' && { next: body.next }),
})

/** Codes of errors that end a program, or that occur before the coordinator answers. */
const PROGRAMS: readonly string[] = [
  'coordinator_unavailable',
  'config_invalid',
  'wrong_usage',
  'address_in_use',
  'audit_broken',
  'client_closed',
] satisfies (keyof typeof table)[]

/** True for a code that API clients never see. */
export const isForPrograms = (code: ErrorCode): boolean => PROGRAMS.includes(code)

export const errorCodes = Object.keys(table) as ErrorCode[]
export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(table, code)
export const httpStatus = (code: ErrorCode): number => table[code].http
export const rpcCode = (code: ErrorCode): number => table[code].rpc
export const exitCode = (code: ErrorCode): number => table[code].exit

/**
 * Whole seconds for Retry-After: every 429 and 503 has it (interface specification, section 7).
 * Undefined for errors that a retry does not resolve.
 */
export const retryAfterOf = (error: ShoalError): number | undefined => {
  if (error.retryAfterSeconds !== undefined) return error.retryAfterSeconds
  if (error.code === 'cell_unavailable') return 30
  return [429, 503].includes(httpStatus(error.code)) ? 5 : undefined
}

/**
 * OpenAI's error body; its four keys are always present (openai/openai-openapi, schema Error), `reason`
 * and `next` where there is one.
 */
export interface ErrorBody {
  error: {
    message: string
    type: string
    param: string | null
    code: string
    reason?: string
    next?: string
  }
}

/** `reason` and `next` of an error, as members of its body; empty for an error without them. */
export const onwardOf = ({ reason, next }: ShoalError): { reason?: string; next?: string } => ({
  ...(reason !== undefined && { reason }),
  ...(next !== undefined && { next }),
})

export const errorBody = (error: ShoalError): ErrorBody => ({
  error: {
    message: error.message,
    type: table[error.code].type,
    param: error.param ?? null,
    code: error.code,
    ...onwardOf(error),
  },
})
