import * as z from 'zod'
import { defineScan } from '../../module.ts'
import { listAddressKeys, listFactAddresses, listNameKeys } from '../../net/address-keys.ts'
import { certificateFacts, listCertificateKeys, TlsFacts } from '../../net/tls-facts.ts'

export default defineScan({
  id: 'tls-cert-check',
  name: 'TLS certificate check',
  description:
    'Check chain, expiry, names, key and protocol of the certificates of hosts in scope.',
  tags: ['osint', 'tls', 'certificate'],
  access: 'operator',
  reach: 'lan',
  input: z.strictObject({
    domains: z
      .array(z.string().min(1).max(260))
      .min(1)
      .max(50)
      .exactOptional()
      .describe(
        '`host`, `host:port` or an address; without it, the domains of the cell configuration.',
      ),
  }),
  examples: [{ domains: ['nas.lan', '192.168.1.10:8443'] }],
  deadlineSeconds: 60,
  row: z.strictObject({
    domain: z.string().max(260).describe('Entry of the input.'),
    host: z.string().max(253),
    port: z.int().min(1).max(65_535),
    address: z.string().max(64).nullable().describe('Address that was contacted; null for none.'),
    reachable: z.boolean(),
    error: z.string().max(300).nullable().describe('Reason why there is no certificate.'),
    tls: TlsFacts.nullable(),
    grade: z.enum(['ok', 'expiring', 'expired', 'invalid', 'unreachable', 'out_of_scope']),
  }),
  observe: ({ address, host, port, tls }, context) => {
    if (address === null || tls === null) return []
    return [
      {
        keys: [
          ...listAddressKeys(address, context),
          ...listNameKeys(host),
          ...listCertificateKeys(tls),
        ],
        facts: {
          ...listFactAddresses(address),
          ...(listNameKeys(host).length === 0 ? {} : { hostname: host }),
          services: [
            {
              port,
              transport: 'tcp',
              name: 'tls',
              product: null,
              version: null,
              is_encrypted: true,
              is_open: null,
            },
          ],
          ...certificateFacts(tls),
        },
      },
    ]
  },
})
