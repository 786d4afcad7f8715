import * as z from 'zod'
import { defineLookup } from '../../module.ts'

const Text = z.string().max(512)

export const PreprintSearch = z.strictObject({
  query: z.string().max(256).nullable(),
  category: z.string().max(32),
  total: z.int().describe('Preprints that match; the newest ones are listed.'),
  start: z.int(),
  items: z
    .array(
      z.strictObject({
        id: z.string().max(64).describe('Without the version.'),
        version: z.int(),
        title: Text,
        abstract: z.string().max(8192),
        authors: z.array(z.string().max(256)).max(100),
        primary_category: z.string().max(32),
        categories: z.array(z.string().max(32)).max(32),
        published_at: z.iso.datetime().nullable(),
        updated_at: z.iso.datetime().nullable(),
        comment: z.string().max(1024).nullable(),
        doi: z.string().max(256).nullable(),
        journal_ref: Text.nullable(),
        abs_url: z.string().max(512),
        pdf_url: z.string().max(512).nullable(),
      }),
    )
    .max(25),
})
export type PreprintSearch = z.infer<typeof PreprintSearch>

export default defineLookup({
  id: 'preprint-search',
  name: 'Preprint search',
  description: 'Search the newest preprints of a field on arXiv.',
  tags: ['ai_ml', 'research', 'preprints'],
  access: 'key',
  reach: 'internet',
  input: z.strictObject({
    query: z.string().min(2).max(256).exactOptional().describe('Words in title or abstract.'),
    category: z
      .string()
      .regex(/^[a-z-]{2,16}(\.[A-Za-z-]{2,16})?$/)
      .default('cs.AI')
      .describe('Category of arXiv, such as cs.AI or cs.RO.'),
  }),
  examples: [{ query: 'graph memory', category: 'cs.AI' }],
  deadlineSeconds: 75,
  data: PreprintSearch,
})
