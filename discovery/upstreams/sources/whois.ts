import { defineSource } from '../source.ts'

/** WHOIS servers (RFC 3912), from that of IANA on; a server is asked on port 43. */
export default defineSource({
  id: 'whois',
  name: 'whois',
  url: 'whois://whois.iana.org:43',
  ttlSeconds: 6 * 3600,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 1, perSeconds: 2 },
  concurrency: 1,
  maxBytes: 64 * 1024,
  licence: null,
  attribution: 'Registration data: the registry and registrar of the domain',
})
