import { ShoalError } from '../../shared/errors.ts'

/** Codes of Node (errors of the system, c-ares, OpenSSL) in words. */
const REASONS: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was cut',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the name server does not answer',
  ETIMEDOUT: 'there is no answer',
  UND_ERR_CONNECT_TIMEOUT: 'there is no answer',
  UND_ERR_HEADERS_TIMEOUT: 'it accepted the request but did not answer',
  UND_ERR_SOCKET: 'the connection was cut',
  HPE_INVALID_CONSTANT: 'the server does not speak HTTP',
  EPROTO: 'the server does not speak TLS',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the server does not speak TLS',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is from an unknown authority',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is from an unknown authority',
  CERT_SIGNATURE_FAILURE: 'its certificate is not from the authority that it names',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
}

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_/

/** The error of a request that got no answer. */
export const createCoordinatorUnreachableError = (url: string, cause: unknown): ShoalError => {
  const code = reasonCode(cause)
  const reason = code === undefined ? '' : `: ${REASONS[code] ?? 'it failed'} (${code})`
  return new ShoalError('coordinator_unavailable', `no coordinator answers at ${url}${reason}`, {
    cause,
  })
}

/** The server at the address answers, but not as a coordinator does. */
export class NotCoordinator extends ShoalError {
  constructor(url: string, cause?: unknown) {
    const message = `the server at ${new URL(url).origin} is not a coordinator`
    super('coordinator_unavailable', message, { cause })
  }
}

/** The innermost code, such as ECONNREFUSED: `fetch` wraps it, once or twice. */
export const reasonCode = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined
  if (error.name === 'TimeoutError') return 'ETIMEDOUT'
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause
  return reasonCode(inner) ?? codeOf(error)
}

/** True when the server presents a certificate that is not trusted. */
export const isUnbelieved = (error: unknown): boolean => CERTIFICATE.test(reasonCode(error) ?? '')

const codeOf = ({ code }: Error & { code?: unknown }): string | undefined =>
  typeof code === 'string' ? code : undefined
