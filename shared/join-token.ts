/**
 * A join token as users copy it: the secret and, after a dot, the fingerprint of the coordinator's
 * own certificate authority (SHA-256 of its certificate, base64url). Only the secret goes over the
 * wire; with the fingerprint the cell authenticates the coordinator first.
 */
interface JoinTokenText {
  secret: string
  /** Fingerprint of its certificate; undefined when the coordinator has a publicly trusted certificate, or is on loopback. */
  fingerprint: string | undefined
}

const PINNED = /^([^.]+)\.([\w-]{43})$/

/** Returns undefined for text that cannot be a token. */
export const parseJoinToken = (text: string): JoinTokenText | undefined => {
  if (!text.includes('.')) return { secret: text, fingerprint: undefined }
  const [, secret, fingerprint] = PINNED.exec(text) ?? []
  return secret === undefined ? undefined : { secret, fingerprint }
}

export const joinTokenText = ({ secret, fingerprint }: JoinTokenText): string =>
  fingerprint === undefined ? secret : `${secret}.${fingerprint}`
