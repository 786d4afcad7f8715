/**
 * A join token as people carry it: the secret and, after a dot, the fingerprint of the coordinator's
 * own certificate authority (SHA-256 of its certificate, base64url). The secret alone goes over the
 * wire; the fingerprint tells the cell whom to give it to.
 */
export interface JoinTokenText {
  secret: string
  /** Undefined when the coordinator has a certificate that others vouch for, or is on loopback. */
  fingerprint: string | undefined
}

const PINNED = /^([^.]+)\.([\w-]{43})$/

/** Undefined for what cannot be a token. */
export const parseJoinToken = (text: string): JoinTokenText | undefined => {
  if (!text.includes('.')) return { secret: text, fingerprint: undefined }
  const [, secret, fingerprint] = PINNED.exec(text) ?? []
  return secret === undefined ? undefined : { secret, fingerprint }
}

export const joinTokenText = ({ secret, fingerprint }: JoinTokenText): string =>
  fingerprint === undefined ? secret : `${secret}.${fingerprint}`
