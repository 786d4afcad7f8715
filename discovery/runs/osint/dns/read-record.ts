import type { Answer } from 'dns-packet'
import ipaddr from 'ipaddr.js'
import { classifyAddress } from '../../../fields/address-scope.ts'
import type { DnsScan } from '../../../modules/osint/dns-scan.ts'

type DnsRecord = DnsScan['records'][number]

const MAX_VALUE = 4096

/**
 * A record in the form of zone files (RFC 1035, 5.1). An address that is not of the internet comes
 * from a resolver with answers of its own network (split horizon): callers with any key may run the
 * scan, so they learn that there is one and not which.
 */
export const readRecord = (answer: Answer): DnsRecord | undefined => {
  if (answer.type === 'OPT') return undefined
  const scope = scopeOf(answer)
  const isLocal = scope === 'private' || scope === 'reserved'
  return {
    type: answer.type.slice(0, 16),
    name: answer.name.toLowerCase().slice(0, 255),
    ttl_s: 'ttl' in answer ? (answer.ttl ?? null) : null,
    value: isLocal ? null : printValue(answer).slice(0, MAX_VALUE),
    priority: answer.type === 'MX' ? (answer.data.preference ?? 0) : null,
    scope,
  }
}

const scopeOf = (answer: Answer): DnsRecord['scope'] =>
  (answer.type === 'A' || answer.type === 'AAAA') && ipaddr.isValid(answer.data)
    ? classifyAddress(ipaddr.process(answer.data))
    : null

const printValue = (answer: Answer): string => {
  switch (answer.type) {
    case 'TXT':
      return [answer.data].flat().map(String).join('')
    case 'MX':
      return answer.data.exchange.toLowerCase()
    case 'CAA':
      return `${answer.data.flags ?? 0} ${answer.data.tag} "${answer.data.value}"`
    case 'SRV':
      return `${answer.data.priority ?? 0} ${answer.data.weight ?? 0} ${answer.data.port} ${answer.data.target}`
    case 'SOA':
      return `${answer.data.mname} ${answer.data.rname} ${answer.data.serial ?? 0}`
    case 'DS':
      return `${answer.data.keyTag} ${answer.data.algorithm} ${answer.data.digestType} ${answer.data.digest.toString('hex')}`
    default:
      return printData((answer as { data?: unknown }).data)
  }
}

const printData = (data: unknown): string =>
  Buffer.isBuffer(data)
    ? data.toString('hex')
    : typeof data === 'string'
      ? data
      : JSON.stringify(data ?? '')
