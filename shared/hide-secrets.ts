export const HIDDEN = '[redacted]'

/** Secrets that shoal issues, recognised by prefix: keys, join tokens, claim tokens and webhook secrets. */
const ISSUED = String.raw`(?:svc-dev-|shl_join_|shl_claim_|whsec_)[\w.+/=-]{8,}`
/** Characters of a credential in an Authorization header. */
const LOGIN = String.raw`[\w.~+/=-]`
/**
 * Credentials in an Authorization header; Basic holds one in base64. Words of a message may follow
 * `basic` too: they have no digit and no capital letter but the first.
 */
const AUTHORIZATION = String.raw`(?:(?<=authorization\W{1,8})(?:basic|bearer) +|(?:basic|bearer) +(?=${LOGIN}+(?-i:[A-Z\d])))${LOGIN}{12,}`
/**
 * Password in the address of a database or broker: up to the last `@` before a slash, or else, since
 * not everybody encodes a slash, up to the next `@`, unless a port with a path stands there.
 */
const URL_PASSWORD = String.raw`(?<=:\/\/[^\s:@/"'[]*:)(?:[^\s/"']+|(?!\d{1,5}\/)[^\s"']{1,128}?)(?=@)`
/** Log lines are JSON, in which the letter of an escaped control character may stand before a secret. */
const START = String.raw`(?:(?<![\w+/=-])|(?<=\\[nrtbf]|\\u[\da-f]{4}))`
/** 256 random bits without a prefix: in base 62, as the credential of a cell, or in base64. */
const RANDOM = String.raw`${START}(?:[0-9A-Za-z]{43}(?![\w+/=-])|[0-9A-Za-z+/]{43}=)`

const MARKED = new RegExp(`${ISSUED}|${AUTHORIZATION}|${URL_PASSWORD}`, 'gi')
const ALL = new RegExp(`${MARKED.source}|${RANDOM}`, 'gi')

/** Hides every secret that is recognised by what stands before it. */
export const hideMarkedSecrets = (text: string): string => text.replace(MARKED, HIDDEN)

/**
 * Hides also what only looks like a secret: any 256 bits in base 62 or base64. For texts that no
 * program reads again.
 */
export const hideSecrets = (text: string): string => text.replace(ALL, HIDDEN)
