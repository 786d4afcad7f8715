import ipaddr from 'ipaddr.js'
import * as z from 'zod'
import { classifyAddress } from '../../fields/address-scope.ts'
import type { LookupContext, LookupRun } from '../../lookup-run.ts'
import type { IpAsn } from '../../modules/osint/ip-to-asn.ts'
import { UpstreamError } from '../../upstreams/client.ts'
import { readNames, readTexts } from '../../upstreams/dns-records.ts'
import ripestat from '../../upstreams/sources/ripestat.ts'
import { readAnswer } from '../../upstreams/try-sources.ts'
import { type Origin, originName, pointerName, readOrigins, readSystem } from './asn/read-cymru.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6

interface Input {
  ip: string
}

const MAX_SYSTEMS = 16

const findNetwork: LookupRun<Input, IpAsn> = async ({ ip }, context) => {
  const address = ipaddr.process(ip)
  const scope = classifyAddress(address)
  const known = {
    ip: address.toString(),
    family: address.kind() === 'ipv4' ? (4 as const) : (6 as const),
    scope,
  }
  if (scope !== 'global') return { ...known, ...NOWHERE }
  const [network, abuse_contacts, reverse_dns] = await Promise.all([
    findOrigin(address, context),
    findAbuseContacts(address, context),
    findHostNames(address, context),
  ])
  return { ...known, ...network, abuse_contacts, reverse_dns }
}
export default findNetwork

const NOWHERE: Omit<IpAsn, 'ip' | 'family' | 'scope'> = {
  announced: false,
  prefix: null,
  asns: [],
  abuse_contacts: [],
  reverse_dns: [],
}

type Network = Pick<IpAsn, 'announced' | 'prefix' | 'asns'>

/** Asks the DNS of Team Cymru, which is made for it, and RIPEstat where that fails. */
const findOrigin = async (address: Address, context: LookupContext): Promise<Network> => {
  try {
    const found = await context.resolver.resolve(originName(address), 'TXT', context.signal)
    const [best, ...others] = readOrigins(readTexts(found))
    if (best === undefined) return NOWHERE
    const same = [best, ...others].filter(({ prefix }) => prefix === best.prefix)
    return { announced: true, prefix: best.prefix, asns: await nameSystems(same, context) }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    context.warn('fallback_used', `${error.message}; asked RIPEstat instead`)
    return askRipestat(address, context)
  }
}

const nameSystems = (
  origins: readonly Origin[],
  context: LookupContext,
): Promise<IpAsn['asns']> => {
  const asns = [...new Set(origins.flatMap(({ asns: numbers }) => numbers))].slice(0, MAX_SYSTEMS)
  return Promise.all(
    asns.map(async asn => {
      const found = await context.resolver.resolve(`AS${asn}.asn.cymru.com`, 'TXT', context.signal)
      const [text = ''] = readTexts(found)
      const system = readSystem(text)
      const [origin] = origins
      return {
        asn,
        name: system.name,
        registry_country: system.country ?? origin?.country ?? null,
        registry: system.registry ?? origin?.registry ?? null,
        allocated_on: system.allocatedOn,
      }
    }),
  )
}

const NetworkInfo = z.object({
  data: z.object({ asns: z.array(z.coerce.string()), prefix: z.string().nullish() }),
})
const Overview = z.object({ data: z.object({ holder: z.string().nullish() }) })
const Contacts = z.object({ data: z.object({ abuse_contacts: z.array(z.string()).nullish() }) })

const askRipestat = async (address: Address, context: LookupContext): Promise<Network> => {
  const { data } = await getRipestat(NetworkInfo, 'network-info', address.toString(), context)
  const numbers = data.asns.filter(asn => /^\d{1,10}$/.test(asn)).slice(0, MAX_SYSTEMS)
  const asns = await Promise.all(
    numbers.map(async asn => {
      const overview = await getRipestat(Overview, 'as-overview', `AS${asn}`, context)
      return {
        asn: Number(asn),
        name: overview.data.holder?.slice(0, 256) ?? null,
        registry_country: null,
        registry: null,
        allocated_on: null,
      }
    }),
  )
  return { announced: asns.length > 0, prefix: data.prefix?.slice(0, 64) ?? null, asns }
}

/** Contacts are worth a warning when they are missing, and no failure. */
const findAbuseContacts = async (address: Address, context: LookupContext): Promise<string[]> => {
  try {
    const resource = address.toString()
    const { data } = await getRipestat(Contacts, 'abuse-contact-finder', resource, context)
    return (data.abuse_contacts ?? []).slice(0, 16).map(text => text.slice(0, 256))
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    context.warn('partial_result', `abuse contacts are unknown: ${error.message}`, ripestat.name)
    return []
  }
}

const getRipestat = async <T extends z.ZodType>(
  schema: T,
  call: string,
  resource: string,
  { ask }: LookupContext,
): Promise<z.output<T>> => {
  const { body } = await ask({
    source: ripestat,
    path: `/data/${call}/data.json`,
    query: { resource, sourceapp: 'shoal' },
    form: 'json',
  })
  return readAnswer(ripestat, () => schema.parse(body))
}

const findHostNames = async (address: Address, context: LookupContext): Promise<string[]> => {
  try {
    return readNames(await context.resolver.resolve(pointerName(address), 'PTR', context.signal))
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return []
  }
}
