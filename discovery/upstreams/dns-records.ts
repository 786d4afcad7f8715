import type { DnsAnswer } from './dns-resolver.ts'

/** Texts of the TXT records; the pieces of one record belong together (RFC 7208, 3.3). */
export const readTexts = ({ answers }: DnsAnswer): string[] =>
  answers.flatMap(answer => (answer.type === 'TXT' ? [joinTexts(answer.data)] : []))

const joinTexts = (data: string | Buffer | (string | Buffer)[]): string =>
  [data].flat().map(String).join('')

const MAX_NAMES = 16

/** Names that PTR, NS and CNAME records lead to, without the last dot. */
export const readNames = ({ answers }: DnsAnswer): string[] =>
  answers
    .flatMap(answer =>
      answer.type === 'PTR' || answer.type === 'NS' || answer.type === 'CNAME' ? [answer.data] : [],
    )
    .map(name => name.toLowerCase().replace(/\.$/, '').slice(0, 253))
    .slice(0, MAX_NAMES)
