import * as z from 'zod'
import type { UpstreamAnswer, UpstreamRequest } from '../../../upstreams/client.ts'
import hf from '../../../upstreams/sources/hf.ts'
import { readAnswer } from '../../../upstreams/try-sources.ts'

/** A weights file of a repository of the hub. */
interface HubFile {
  path: string
  bytes: number | null
  /** Digest of a file in large file storage; null for any other. */
  sha256: string | null
}

/** A repository of the hub at one commit. */
export interface HubRepository {
  /** `owner/name`: the present name of a repository that was renamed. */
  id: string
  commit: string
  licence: string | null
  /** True when the hub gives the files only to accounts that have accepted its terms. */
  isGated: boolean
  /** GGUF files. */
  files: readonly HubFile[]
}

type AskHub = (request: UpstreamRequest) => Promise<UpstreamAnswer>

const Sibling = z.object({
  rfilename: z.string().max(1024),
  size: z.int().nonnegative().nullish(),
  lfs: z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) }).nullish(),
})

/** Answer of `/api/models/{id}/revision/{revision}?blobs=true` (huggingface_hub, `model_info`). */
const Repository = z.object({
  id: z
    .string()
    .max(256)
    .regex(/^(?!\.+\/)[\w.-]+\/(?!\.+$)[\w.-]+$/),
  sha: z.string().regex(/^[0-9a-f]{40}$/),
  gated: z.union([z.boolean(), z.string()]).nullish(),
  cardData: z.object({ license: z.unknown() }).nullish(),
  siblings: z.array(z.unknown()).max(100_000),
})

/** Reads a repository and the digests of its files. @throws UpstreamError */
export const readHubRepository = async (
  ask: AskHub,
  { owner, repository, revision }: { owner: string; repository: string; revision: string },
): Promise<HubRepository> => {
  const { body } = await ask({
    source: hf,
    path: `/api/models/${owner}/${repository}/revision/${encodeURIComponent(revision)}`,
    query: { blobs: 'true' },
    form: 'json',
  })
  const { id, sha, gated, cardData, siblings } = readAnswer(hf, () => Repository.parse(body))
  const files = siblings.flatMap(each => Sibling.safeParse(each).data ?? [])
  const licence = cardData?.license
  return {
    id,
    commit: sha,
    licence: typeof licence === 'string' ? licence.slice(0, 64) : null,
    isGated: (gated ?? false) !== false,
    files: files
      .filter(({ rfilename }) => rfilename.endsWith('.gguf'))
      .map(({ rfilename, size, lfs }) => ({
        path: rfilename,
        bytes: size ?? null,
        sha256: lfs?.sha256 ?? null,
      })),
  }
}
