import * as z from 'zod'
import { defineLookup } from '../../module.ts'

const Text = z.string().max(256)

export const Release = z.strictObject({
  tag: Text,
  name: Text.nullable(),
  published_at: z.iso.datetime().nullable(),
  prerelease: z.boolean(),
  url: z.string().max(2048),
  notes: z.string().max(4000).nullable().describe('The first 4,000 characters.'),
  assets: z
    .array(
      z.strictObject({
        name: Text,
        size_bytes: z.int(),
        downloads: z.int(),
        sha256: z.string().max(64).nullable(),
      }),
    )
    .max(50),
})
export type Release = z.infer<typeof Release>

export const RepoReleases = z.strictObject({
  repos: z
    .array(
      z.strictObject({
        repo: Text,
        found: z.boolean().describe('False also for a private repository.'),
        renamed_to: Text.nullable(),
        latest: Release.nullable().describe('Newest release that is not a pre-release.'),
        releases: z.array(Release).max(5),
        error: z.string().max(300).nullable(),
      }),
    )
    .max(50),
  rate: z
    .strictObject({ limit: z.int(), remaining: z.int(), reset_at: z.iso.datetime() })
    .nullable(),
})
export type RepoReleases = z.infer<typeof RepoReleases>

export default defineLookup({
  id: 'repo-releases',
  name: 'Repository releases',
  description: 'List the newest releases of software repositories.',
  tags: ['community', 'releases', 'software'],
  access: 'key',
  reach: 'internet',
  input: z.strictObject({
    repos: z
      .array(z.string().min(3).max(256))
      .max(50)
      .exactOptional()
      .describe('`owner/name` or the address of a repository; the configured ones when absent.'),
  }),
  examples: [{ repos: ['nodejs/node'] }],
  deadlineSeconds: 60,
  autoRun: { everySeconds: 6 * 3600, isPassive: false },
  data: RepoReleases,
})
