import { A2AError } from '@a2a-js/sdk/errors'
import {
  type ErrorCode,
  httpStatus,
  onwardOf,
  retryAfterOf,
  rpcCode,
  ShoalError,
} from '../../../shared/errors.ts'

/** One failure, with its codes in both bindings. */
export interface Failure {
  /** JSON-RPC. */
  code: number
  message: string
  http: number
  /** Name of the google.rpc code. */
  status: string
  details: object[]
  retryAfterSeconds?: number | undefined
  /** A transport error: JSON-RPC too has an HTTP status for it. */
  isTransport: boolean
}

/** A2A specification 1.0.1, section 5.4. */
const A2A: Record<string, [code: number, http: number, status: string]> = {
  TaskNotFoundError: [-32001, 404, 'NOT_FOUND'],
  TaskNotCancelableError: [-32002, 400, 'FAILED_PRECONDITION'],
  PushNotificationNotSupportedError: [-32003, 400, 'FAILED_PRECONDITION'],
  UnsupportedOperationError: [-32004, 400, 'FAILED_PRECONDITION'],
  ContentTypeNotSupportedError: [-32005, 400, 'INVALID_ARGUMENT'],
  InvalidAgentResponseError: [-32006, 500, 'INTERNAL'],
  ExtendedAgentCardNotConfiguredError: [-32007, 400, 'FAILED_PRECONDITION'],
  ExtensionSupportRequiredError: [-32008, 400, 'FAILED_PRECONDITION'],
  VersionNotSupportedError: [-32009, 400, 'FAILED_PRECONDITION'],
  RequestMalformedError: [-32602, 400, 'INVALID_ARGUMENT'],
}

/** Statuses of HTTP as google.rpc names them (google/rpc/code.proto). */
const STATUS: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
}

/** A body that violates the protocol; the JSON-RPC code gives the kind of violation. */
export class MalformedBody extends Error {
  readonly code: -32700 | -32600 | -32601
  constructor(code: -32700 | -32600 | -32601, message: string) {
    super(message)
    this.code = code
  }
}

/** A skill that there is not, or that is not named. */
export class SkillNotFoundError extends ShoalError {
  constructor(id: string) {
    super('invalid_request', `no skill ${id}; the agent card lists them`, { param: 'skill' })
  }
}

/** Domain of shoal's own reasons; that of the protocol is a2a-protocol.org. */
const DOMAIN = 'shoal'
const TRANSPORT: readonly ErrorCode[] = [
  ...(['auth_required', 'forbidden', 'tenant_forbidden', 'tier_exceeded', 'rate_limited'] as const),
  ...(['payload_too_large', 'unsupported_media_type', 'store_unavailable', 'draining'] as const),
  ...(['audit_broken', 'internal', 'host_not_allowed', 'request_timeout'] as const),
]

/**
 * Converts anything thrown. Errors from neither shoal nor the protocol become `internal`, without
 * their message.
 */
export const failureOf = (thrown: unknown): Failure => {
  if (thrown instanceof MalformedBody) return toMalformedFailure(thrown)
  if (thrown instanceof A2AError) {
    const [code, http, status] = A2A[thrown.name] ?? [-32603, 500, 'INTERNAL']
    const details = [thrown.toErrorInfo()]
    return { code, http, status, details, message: thrown.message, isTransport: false }
  }
  return thrown instanceof ShoalError ? ownFailure(thrown) : ownFailure(UNKNOWN)
}

const UNKNOWN = new ShoalError('internal', 'the coordinator failed to handle this request')

const toMalformedFailure = ({ code, message }: MalformedBody): Failure => ({
  code,
  message,
  http: 400,
  status: 'INVALID_ARGUMENT',
  details: [],
  isTransport: code === -32700,
})

const ownFailure = (error: ShoalError): Failure => {
  const { code, message, param } = error
  if (code === 'unsupported_media_type') return { ...badType(message) }
  const http = httpStatus(code) === 422 ? 400 : httpStatus(code)
  const reason = error instanceof SkillNotFoundError ? 'SKILL_NOT_FOUND' : reasonOf(code)
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason,
    domain: DOMAIN,
    ...metadata(error),
  }
  return {
    code: rpcCode(code),
    message,
    http,
    status: STATUS[http] ?? 'INTERNAL',
    details: [info, ...violations(param, message)],
    retryAfterSeconds: retryAfterOf(error),
    isTransport: TRANSPORT.includes(code),
  }
}

/** Strings by name, as google.rpc.ErrorInfo has them. */
const metadata = (error: ShoalError): { metadata?: object } => {
  const onward = onwardOf(error)
  return Object.keys(onward).length === 0 ? {} : { metadata: onward }
}

const reasonOf = (code: ErrorCode): string =>
  code === 'invalid_request' ? 'INVALID_INPUT' : code.toUpperCase()

const violations = (field: string | undefined, description: string): object[] =>
  field === undefined
    ? []
    : [
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field, description }],
        },
      ]

const badType = (message: string): Failure => ({
  code: -32005,
  message,
  http: 400,
  status: 'INVALID_ARGUMENT',
  details: [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'CONTENT_TYPE_NOT_SUPPORTED',
      domain: 'a2a-protocol.org',
    },
  ],
  isTransport: true,
})

export const rpcError = ({ code, message, details }: Failure) => ({
  code,
  message,
  ...(details.length === 0 ? {} : { data: details }),
})

/** The body of an error of HTTP+JSON 1.0: google.rpc.Status. */
export const restError = ({ http, status, message, details }: Failure) => ({
  error: { code: http, status, message, details },
})

/** The body before 1.0: the JSON-RPC error alone. */
export const legacyRestError = ({ code, message, details }: Failure) => ({
  code,
  message,
  ...(details.length === 0 ? {} : { data: { details } }),
})
