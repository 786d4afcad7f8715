import type { Answer } from 'dns-packet'
import type { DnsScan } from '../../../modules/osint/dns-scan.ts'

type DnsRecord = DnsScan['records'][number]

const MAX_VALUE = 4096

/** A record in the form of zone files (RFC 1035, 5.1). */
export const readRecord = (answer: Answer): DnsRecord | undefined => {
  if (answer.type === 'OPT') return undefined
  return {
    type: answer.type.slice(0, 16),
    name: answer.name.toLowerCase().slice(0, 255),
    ttl_s: 'ttl' in answer ? (answer.ttl ?? null) : null,
    value: printValue(answer).slice(0, MAX_VALUE),
    priority: answer.type === 'MX' ? (answer.data.preference ?? 0) : null,
  }
}

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
