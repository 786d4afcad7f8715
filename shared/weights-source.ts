/** Source of weights, as written in a catalogue. */
export type WeightsSource =
  | { kind: 'bundled'; id: string }
  | { kind: 'file'; path: string }
  /** A file on a model hub; `revision` is a branch, a tag or a commit. */
  | { kind: 'hub'; owner: string; repository: string; path: string; revision: string }
  | { kind: 'url'; url: URL }

const HUB = /^hf:([\w.-]+)\/([\w.-]+)\/([\w./ -]+\.gguf)(?:@([\w./-]+))?$/

/** Parses the `weights` of a catalogue entry. @throws Error with the reason in plain words */
export const parseWeightsSource = (text: string): WeightsSource => {
  if (text.startsWith('bundled:')) return { kind: 'bundled', id: text.slice('bundled:'.length) }
  if (text.startsWith('hf:')) return parseHub(text)
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return { kind: 'url', url: parseDownloadUrl(text) }
  return { kind: 'file', path: text }
}

/** The `weights` of a catalogue entry for people and logs: the query of an address can be a secret. */
export const nameWeights = (text: string): string => {
  const source = parseWeightsSource(text)
  return source.kind === 'url' ? `${source.url.origin}${source.url.pathname}` : text
}

const parseHub = (text: string): WeightsSource => {
  const [, owner, repository, path, revision = 'main'] = HUB.exec(text) ?? []
  const names = [owner, repository, ...(path ?? '').split('/'), ...revision.split('/')]
  if (!owner || !repository || !path || names.some(isNoName))
    throw new Error(`${text} is not of the form hf:owner/repository/file.gguf[@revision]`)
  return { kind: 'hub', owner, repository, path, revision }
}

/** True for a path segment that would lead elsewhere. */
const isNoName = (part: string | undefined): boolean => !part || part === '.' || part === '..'

/**
 * Parses an address that weights may be downloaded from. @throws Error with the reason in plain
 * words
 */
export const parseDownloadUrl = (text: string): URL => {
  if (!URL.canParse(text)) throw new Error('it is not a URL')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new Error(`weights cannot be fetched with ${url.protocol.slice(0, -1)}: use https`)
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new Error('plain http does not protect the weights in transit: use https')
  if (url.username !== '' || url.password !== '')
    throw new Error('it must not contain a user name or password')
  return url
}

/** True for `localhost`, 127.0.0.0/8 and ::1. */
const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)

/** Address of a file below the hub's base address. */
export const hubAddress = (
  base: string,
  { owner, repository, path, revision }: Extract<WeightsSource, { kind: 'hub' }>,
): URL => {
  const file = path.split('/').map(encodeURIComponent).join('/')
  const tail = `${owner}/${repository}/resolve/${encodeURIComponent(revision)}/${file}`
  return parseDownloadUrl(`${base.replace(/\/+$/, '')}/${tail}`)
}
