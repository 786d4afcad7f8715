import * as z from 'zod'
import { defineSource } from '../source.ts'

/** Matrix servers that the operator names, https://spec.matrix.org/latest/server-server-api. */
export default defineSource({
  id: 'matrix',
  name: 'matrix',
  url: null,
  ttlSeconds: 600,
  maxStaleSeconds: 86_400,
  rate: { requests: 8, perSeconds: 8 },
  concurrency: 4,
  options: {
    servers: z
      .array(z.string().regex(/^[a-z0-9.-]{1,230}(:\d{1,5})?$/))
      .max(16)
      .default([])
      .describe('Names of servers that matrix-discover looks at: `example.org`.'),
  },
  licence: null,
  attribution: null,
})
