import { readUtcTime } from '../../../fields/utc-time.ts'
import type { Registration } from './read-rdap.ts'

/** Names of fields as registries write them, in lower case; the first one that is there counts. */
const FIELDS = {
  registrar: ['registrar', 'sponsoring registrar', 'registrar name'],
  ianaId: ['registrar iana id'],
  created: ['creation date', 'created', 'created on', 'registered on', 'registration date'],
  updated: ['updated date', 'last updated', 'last-update', 'changed', 'last modified'],
  expires: [
    'registry expiry date',
    'registrar registration expiration date',
    'expiry date',
    'expiration date',
    'paid-till',
    'expires',
    'renewal date',
  ],
  status: ['domain status', 'status'],
  nameserver: ['name server', 'nserver', 'nameserver', 'name servers'],
  dnssec: ['dnssec'],
  organisation: ['registrant organization', 'registrant organisation'],
  country: ['registrant country'],
  abuse: ['registrar abuse contact email', 'abuse contact email'],
} as const

const NOT_FOUND = /no match|not found|status:\s*(free|available)|no entries found|no data found/i

const MAX_TEXT = 256
const MAX_ENTRIES = 32

/** Reads lines `Key: value`. Undefined for a domain that is not registered. */
export const readWhois = (text: string): Registration | undefined => {
  const fields = parseFields(text)
  if (fields.size === 0 || (NOT_FOUND.test(text) && !fields.has('registrar'))) return undefined
  const listOf = (key: keyof typeof FIELDS): string[] =>
    FIELDS[key].flatMap(name => fields.get(name) ?? []).map(value => value.slice(0, MAX_TEXT))
  const firstOf = (key: keyof typeof FIELDS): string | null => listOf(key)[0] ?? null
  const ianaId = firstOf('ianaId')
  const dnssec = firstOf('dnssec')
  return {
    registrar: firstOf('registrar'),
    registrar_iana_id: ianaId !== null && /^\d{1,6}$/.test(ianaId) ? Number(ianaId) : null,
    created_at: readUtcTime(firstOf('created')),
    updated_at: readUtcTime(firstOf('updated')),
    expires_at: readUtcTime(firstOf('expires')),
    status: listOf('status')
      .map(value => value.split(/\s/)[0] ?? '')
      .slice(0, MAX_ENTRIES),
    nameservers: listOf('nameserver')
      .map(value => (value.split(/\s/)[0] ?? '').toLowerCase().replace(/\.$/, ''))
      .slice(0, MAX_ENTRIES),
    dnssec: dnssec === null ? null : !/unsigned|no|inactive/i.test(dnssec),
    registrant_org: firstOf('organisation'),
    registrant_country: firstOf('country')?.slice(0, 64) ?? null,
    abuse_email: firstOf('abuse'),
  }
}

/** Server that knows more: that of the registry, or the registrar's. */
export const findReferral = (text: string): string | undefined => {
  const fields = parseFields(text)
  const [server] = ['refer', 'whois', 'registrar whois server'].flatMap(
    key => fields.get(key) ?? [],
  )
  const [host] = (server ?? '')
    .replace(/^\w+:\/\//, '')
    .toLowerCase()
    .split(/[:/]/, 1)
  return host !== undefined && /^[a-z0-9.-]{1,253}$/.test(host) ? host : undefined
}

/** Values by their key in lower case; lines of comments and the notice after `>>>` are left out. */
const parseFields = (text: string): Map<string, string[]> => {
  const fields = new Map<string, string[]>()
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(%|#|>>>)/.test(line)) continue
    const [, key, value] = /^\s*([^:]{1,64}):\s*(\S.*)$/.exec(line) ?? []
    if (key === undefined || value === undefined) continue
    const name = key.trim().toLowerCase()
    const values = fields.get(name) ?? []
    if (values.length < MAX_ENTRIES) fields.set(name, [...values, value.trim()])
  }
  return fields
}
