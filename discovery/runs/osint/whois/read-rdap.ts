import * as z from 'zod'
import { readUtcTime } from '../../../fields/utc-time.ts'

/** Members of a domain object that are read (RFC 9083, 5.3); everything may be absent. */
const Entity: z.ZodType<RdapEntity> = z.lazy(() =>
  z.object({
    roles: z.array(z.string()).nullish(),
    publicIds: z.array(z.object({ type: z.string(), identifier: z.string() })).nullish(),
    vcardArray: z.array(z.unknown()).nullish(),
    entities: z.array(Entity).nullish(),
  }),
)

interface RdapEntity {
  roles?: string[] | null | undefined
  publicIds?: { type: string; identifier: string }[] | null | undefined
  vcardArray?: unknown[] | null | undefined
  entities?: RdapEntity[] | null | undefined
}

const Domain = z.object({
  status: z.array(z.string()).nullish(),
  events: z.array(z.object({ eventAction: z.string(), eventDate: z.string().nullish() })).nullish(),
  entities: z.array(Entity).nullish(),
  nameservers: z.array(z.object({ ldhName: z.string().nullish() })).nullish(),
  secureDNS: z.object({ delegationSigned: z.boolean().nullish() }).nullish(),
  links: z
    .array(
      z.object({
        rel: z.string().nullish(),
        href: z.string().nullish(),
        type: z.string().nullish(),
      }),
    )
    .nullish(),
})

/** Registration of a domain, without the server that said it. */
export interface Registration {
  registrar: string | null
  registrar_iana_id: number | null
  created_at: string | null
  updated_at: string | null
  expires_at: string | null
  status: string[]
  nameservers: string[]
  dnssec: boolean | null
  registrant_org: string | null
  registrant_country: string | null
  abuse_email: string | null
}

const MAX_TEXT = 256
const MAX_ENTRIES = 32

/** Reads a domain object, and the address of the registrar's own record; persons are left out. */
export const readRdap = (body: unknown): { found: Registration; related: string | undefined } => {
  const domain = Domain.parse(body)
  const entities = flatten(domain.entities ?? [])
  const registrar = findByRole(entities, 'registrar')
  const registrant = findByRole(entities, 'registrant')
  const eventAt = (action: string): string | null =>
    readUtcTime(domain.events?.find(({ eventAction }) => eventAction === action)?.eventDate)
  const found: Registration = {
    registrar: readVcard(registrar, 'fn') ?? readVcard(registrar, 'org'),
    registrar_iana_id: readIanaId(registrar),
    created_at: eventAt('registration'),
    updated_at: eventAt('last changed'),
    expires_at: eventAt('expiration'),
    status: (domain.status ?? []).slice(0, MAX_ENTRIES).map(text => text.slice(0, MAX_TEXT)),
    nameservers: (domain.nameservers ?? [])
      .flatMap(({ ldhName }) => ldhName?.toLowerCase().replace(/\.$/, '').slice(0, 253) ?? [])
      .slice(0, MAX_ENTRIES),
    dnssec: domain.secureDNS?.delegationSigned ?? null,
    registrant_org: readVcard(registrant, 'org'),
    registrant_country: readCountry(registrant),
    abuse_email: readVcard(findByRole(entities, 'abuse'), 'email'),
  }
  return { found, related: findRelated(domain.links ?? []) }
}

const flatten = (entities: readonly RdapEntity[]): RdapEntity[] =>
  entities.flatMap(entity => [entity, ...flatten(entity.entities ?? [])])

const findByRole = (entities: readonly RdapEntity[], role: string): RdapEntity | undefined =>
  entities.find(({ roles }) => roles?.includes(role))

const readIanaId = (entity: RdapEntity | undefined): number | null => {
  const id = entity?.publicIds?.find(({ type }) => /iana registrar id/i.test(type))?.identifier
  return id !== undefined && /^\d{1,6}$/.test(id) ? Number(id) : null
}

/** Properties of a jCard: `["vcard", [[name, parameters, type, value], ...]]` (RFC 7095). */
const listProperties = (entity: RdapEntity | undefined): unknown[][] => {
  const [, properties] = entity?.vcardArray ?? []
  return Array.isArray(properties) ? properties.filter(each => Array.isArray(each)) : []
}

const readVcard = (entity: RdapEntity | undefined, name: string): string | null => {
  const value = listProperties(entity).find(([key]) => key === name)?.[3]
  const text = Array.isArray(value) ? value.flat().find(each => each !== '') : value
  return typeof text === 'string' && text.trim() !== '' ? text.trim().slice(0, MAX_TEXT) : null
}

/** Country of an address: its last component, or the parameter `cc` (RFC 8605). */
const readCountry = (entity: RdapEntity | undefined): string | null => {
  const address = listProperties(entity).find(([key]) => key === 'adr')
  const [, parameters, , value] = address ?? []
  const named = Array.isArray(value) ? value[6] : undefined
  const code = (parameters as { cc?: unknown } | undefined)?.cc
  const country = [code, named].find(each => typeof each === 'string' && each !== '')
  return typeof country === 'string' ? country.slice(0, 64) : null
}

const findRelated = (
  links: readonly { rel?: string | null | undefined; href?: string | null | undefined }[],
): string | undefined => {
  const link = links.find(({ rel, href }) => rel === 'related' && href?.startsWith('https://'))
  return link?.href ?? undefined
}
