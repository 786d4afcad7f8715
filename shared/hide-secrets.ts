export const HIDDEN = '[redacted]'

/** What shoal issues, by its prefix: keys, join tokens, claim tokens and webhook secrets. */
const ISSUED = String.raw`(?:svc-dev-|shl_join_|shl_claim_|whsec_)[\w.+/=-]{8,}`
/** Credentials in an Authorization header; Basic holds one in base64. */
const AUTHORIZATION = String.raw`\b(?:basic|bearer) +[\w.~+/=-]{12,}`
/** Password in the address of a database or broker. */
const URL_PASSWORD = String.raw`(?<=:\/\/[^\s:@/"']*:)[^\s@/"']+(?=@)`
/** 256 random bits without a prefix: in base 62, as the credential of a cell, or in base64. */
const RANDOM = String.raw`(?<![\w+/=-])[0-9A-Za-z]{43}(?![\w+/=-])|(?<![\w+/=-])[0-9A-Za-z+/]{43}=`

const MARKED = new RegExp(`${ISSUED}|${AUTHORIZATION}|${URL_PASSWORD}`, 'gi')
const ALL = new RegExp(`${MARKED.source}|${RANDOM}`, 'gi')

/** Hides every secret that is recognised by what stands before it. */
export const hideMarkedSecrets = (text: string): string => text.replace(MARKED, HIDDEN)

/**
 * Hides also what only looks like a secret: any 256 bits in base 62 or base64. For texts that no
 * program reads again.
 */
export const hideSecrets = (text: string): string => text.replace(ALL, HIDDEN)
