import * as z from 'zod'
import { defineSource } from '../source.ts'

/** Resolvers for dns-scan and ip-to-asn: those of the machine unless some are named. */
export default defineSource({
  id: 'dns',
  name: 'dns',
  url: null,
  ttlSeconds: 0,
  maxStaleSeconds: 0,
  rate: { requests: 20, perSeconds: 1 },
  concurrency: 20,
  options: {
    servers: z
      .array(z.string().max(64))
      .max(8)
      .default([])
      .describe(
        'Addresses of resolvers, `192.0.2.1` or `192.0.2.1:5353`; those of the machine when empty.',
      ),
    dkim_selectors: z
      .array(z.string().regex(/^[a-z0-9_-]{1,63}$/))
      .max(64)
      .default([
        ...['default', 'google', 'selector1', 'selector2', 'k1', 'k2', 's1', 's2'],
        ...['mail', 'dkim', 'smtp'],
      ])
      .describe('Selectors at which dns-scan looks for DKIM keys.'),
  },
  licence: null,
  attribution: null,
})
