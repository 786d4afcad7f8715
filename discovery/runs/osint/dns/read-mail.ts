import { createPublicKey } from 'node:crypto'
import type { DnsScan } from '../../../modules/osint/dns-scan.ts'

type Mail = DnsScan['mail']

/** Tags of a record such as `v=DMARC1; p=reject` (RFC 6376, 3.2). */
const parseTags = (text: string): Map<string, string> =>
  new Map(
    text.split(';').flatMap(part => {
      const [key = '', ...value] = part.split('=')
      return value.length === 0 ? [] : [[key.trim().toLowerCase(), value.join('=').trim()] as const]
    }),
  )

const DMARC_POLICIES = ['none', 'quarantine', 'reject'] as const

/** The policy of a domain (RFC 7489, 6.3); more than one record is none. */
export const readDmarc = (texts: readonly string[]): Mail['dmarc'] => {
  const records = texts.filter(text => /^v=DMARC1\s*(;|$)/i.test(text))
  const [record] = records
  if (record === undefined || records.length > 1)
    return { record: record ?? null, policy: null, percent: 0 }
  const tags = parseTags(record)
  const percent = Number(tags.get('pct') ?? 100)
  return {
    record,
    policy: DMARC_POLICIES.find(each => each === tags.get('p')?.toLowerCase()) ?? null,
    percent: Number.isInteger(percent) && percent >= 0 && percent <= 100 ? percent : 100,
  }
}

/** Key of a selector (RFC 6376, 3.6.1); undefined without one, or for one that was revoked. */
export const readDkim = (
  selector: string,
  texts: readonly string[],
): Mail['dkim'][number] | undefined => {
  const record = texts.find(text => /(^|;)\s*p=/.test(text))
  const tags = parseTags(record ?? '')
  const key = tags.get('p')?.replaceAll(/\s/g, '') ?? ''
  if (key === '') return undefined
  const type = tags.get('k') ?? 'rsa'
  return { selector, key_type: type.slice(0, 16), bits: measureKey(type, key) }
}

const measureKey = (type: string, key: string): number | null => {
  if (type === 'ed25519') return 256
  try {
    const parsed = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' })
    return parsed.asymmetricKeyDetails?.modulusLength ?? null
  } catch {
    return null
  }
}
