import * as z from 'zod'

/** Schemes of links for people: those that run code or embed data are rejected. */
const PLACES = /^(?!(javascript|data|vbscript|blob)$)/

export const EvidenceItemInput = z.strictObject({
  kind: z.string().min(1).max(64).describe('Kind of evidence, such as `commit` or `test-report`.'),
  text: z.string().min(1).max(10_000).exactOptional(),
  uri: z
    .url({ protocol: PLACES })
    .max(2000)
    .exactOptional()
    .describe('Location of the item, such as a URL.'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'is not a SHA-256 in lower-case hexadecimal')
    .exactOptional()
    .describe("Checksum of the item's content."),
})
