import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { readUtcTime } from '../../fields/utc-time.ts'
import type { LookupContext, LookupRun } from '../../lookup-run.ts'
import type { Release, RepoReleases } from '../../modules/community/repo-releases.ts'
import { type UpstreamAnswer, UpstreamError } from '../../upstreams/client.ts'
import github from '../../upstreams/sources/github.ts'

interface Input {
  repos?: string[]
}

type Repo = RepoReleases['repos'][number]

const MAX_NOTES = 4000
const MAX_ASSETS = 50
const HEADERS = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' }

const listReleases: LookupRun<Input, RepoReleases> = async ({ repos }, context) => {
  const configured = (context.settings.option(github.id, 'repos') ?? []) as string[]
  const named = repos ?? configured
  if (named.length === 0)
    throw new ShoalError(
      'invalid_request',
      'repos is required, because upstreams.sources.github.repos names none',
      { param: 'repos' },
    )
  const wanted = [...new Set(named.map(readRepo))]
  let rate: RepoReleases['rate'] = null
  const found = await Promise.all(
    wanted.map(repo =>
      askRepo(repo, context, answer => {
        rate = readRate(answer) ?? rate
      }),
    ),
  )
  return { repos: found, rate }
}
export default listReleases

/** `owner/name` of what somebody typed: an address, `git@` or with `.git` at its end. */
export const readRepo = (text: string): string => {
  const [, owner, name] =
    /^(?:(?:https?:\/\/|git@)?github\.com[/:])?([\w.-]{1,100})\/([\w.-]{1,100}?)(?:\.git)?\/?$/.exec(
      text.trim(),
    ) ?? []
  if (owner !== undefined && name !== undefined && !/^\.+$/.test(owner) && !/^\.+$/.test(name))
    return `${owner}/${name}`
  throw new ShoalError('invalid_request', `${text} is not a repository; write owner/name`, {
    param: 'repos',
  })
}

const askRepo = async (
  repo: string,
  context: LookupContext,
  onAnswer: (answer: UpstreamAnswer) => void,
): Promise<Repo> => {
  try {
    const request = { source: github, headers: HEADERS, accepts: [404, 451], form: 'json' as const }
    const path = `/repos/${repo}/releases`
    const answer = await context.ask({ ...request, path, query: { per_page: 5 } })
    onAnswer(answer)
    if (answer.status !== 200) return toMissing(repo, answer.status)
    const releases = readReleases(answer.body)
    if (releases.length > 0) return toRepo(repo, releases)
    const tags = await context.ask({
      ...request,
      path: `/repos/${repo}/tags`,
      query: { per_page: 5 },
    })
    return toRepo(repo, readTags(tags.body, repo))
  } catch (error) {
    context.signal.throwIfAborted()
    if (!(error instanceof UpstreamError) && !(error instanceof z.ZodError)) throw error
    const message = error instanceof UpstreamError ? error.message : 'the answer could not be read'
    context.warn('partial_result', `${repo}: ${message}`, github.name)
    return { ...toMissing(repo, 0), error: message.slice(0, 300) }
  }
}

const toMissing = (repo: string, status: number): Repo => ({
  repo,
  found: false,
  renamed_to: null,
  latest: null,
  releases: [],
  error:
    status === 451 ? 'the repository is blocked' : 'there is no public repository of this name',
})

const toRepo = (repo: string, releases: Release[]): Repo => {
  const [, owner, name] = /^https:\/\/[^/]+\/([^/]+)\/([^/]+)\//.exec(releases[0]?.url ?? '') ?? []
  const current = owner === undefined ? repo : `${owner}/${name}`
  return {
    repo,
    found: true,
    renamed_to: current.toLowerCase() === repo.toLowerCase() ? null : current.slice(0, 256),
    latest: releases.find(({ prerelease }) => !prerelease) ?? null,
    releases,
    error: null,
  }
}

const GithubRelease = z.object({
  tag_name: z.string(),
  name: z.string().nullish(),
  body: z.string().nullish(),
  draft: z.boolean().nullish(),
  prerelease: z.boolean().nullish(),
  published_at: z.string().nullish(),
  html_url: z.string(),
  assets: z
    .array(
      z.object({
        name: z.string(),
        size: z.int().nullish(),
        download_count: z.int().nullish(),
        digest: z.string().nullish(),
      }),
    )
    .nullish(),
})

const readReleases = (body: unknown): Release[] =>
  z
    .array(GithubRelease)
    .parse(body)
    .filter(({ draft }) => draft !== true)
    .map(release => ({
      tag: release.tag_name.slice(0, 256),
      name: release.name?.slice(0, 256) || null,
      published_at: readUtcTime(release.published_at),
      prerelease: release.prerelease ?? false,
      url: release.html_url.slice(0, 2048),
      notes: release.body?.slice(0, MAX_NOTES) ?? null,
      assets: (release.assets ?? [])
        .slice(0, MAX_ASSETS)
        .map(({ name, size, download_count, digest }) => ({
          name: name.slice(0, 256),
          size_bytes: size ?? 0,
          downloads: download_count ?? 0,
          sha256: /^sha256:([0-9a-f]{64})$/.exec(digest ?? '')?.[1] ?? null,
        })),
    }))

/** Tags have no dates. */
const readTags = (body: unknown, repo: string): Release[] =>
  z
    .array(z.object({ name: z.string() }))
    .parse(body)
    .map(({ name }) => ({
      tag: name.slice(0, 256),
      name: null,
      published_at: null,
      prerelease: /-(alpha|beta|rc|pre)/i.test(name),
      url: `https://github.com/${repo}/releases/tag/${encodeURIComponent(name)}`.slice(0, 2048),
      notes: null,
      assets: [],
    }))

const readRate = ({ headers }: UpstreamAnswer): RepoReleases['rate'] => {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map(name =>
    Number.parseInt(headers[`x-ratelimit-${name}`] ?? '', 10),
  )
  if (!Number.isInteger(limit) || !Number.isInteger(remaining) || !Number.isInteger(reset))
    return null
  return {
    limit: limit as number,
    remaining: remaining as number,
    reset_at: new Date((reset as number) * 1000).toISOString(),
  }
}
