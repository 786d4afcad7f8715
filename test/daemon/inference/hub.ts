import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/**
 * A model hub in the shape of huggingface.co (huggingface_hub, `file_download.py`, and what its
 * servers answer): the hub itself has no bytes of a large file, it tells its digest and size and
 * redirects to a signed address at another host, which takes ranges and refuses a second
 * authorization as S3 does.
 */
interface Hub {
  url: string
  requests: IncomingMessage[]
  storage: { url: string; requests: IncomingMessage[] }
  /** Faults of the next answers of the storage, in order. */
  faults: StorageFault[]
}

type StorageFault = 'expired' | 'cut' | undefined

export interface HubFile {
  content: Buffer
  /** Needs a token with access, as a gated repository does. */
  gated?: { token: string }
  /** Digest that the hub reports. */
  etag?: string
  size?: number
  /** The repository has this name now, at this hub or another one (an address before the name). */
  movedTo?: string
}

/** @param files by `owner/repository/revision/path` */
export const startHub = async (t: Test, files: Record<string, HubFile>): Promise<Hub> => {
  const faults: StorageFault[] = []
  const storage = await serve(t, (request, response) => {
    const url = new URL(request.url ?? '', 'http://storage')
    const file = files[decodeURIComponent(url.pathname.slice(1))]
    const fault = faults.shift()
    if (request.headers.authorization !== undefined) xml(response, 400, 'InvalidArgument')
    else if (fault === 'expired' || !url.searchParams.has('X-Amz-Signature'))
      xml(response, 403, 'AccessDenied')
    else if (file === undefined) xml(response, 404, 'NoSuchKey')
    else sendBytes(request, response, file.content, fault === 'cut')
  })
  const hub = await serve(t, (request, response) => answer(files, storage.url, request, response))
  return { ...hub, storage, faults }
}

const answer = (
  files: Record<string, HubFile>,
  storageUrl: string,
  request: IncomingMessage,
  response: ServerResponse,
): void => {
  const { pathname } = new URL(request.url ?? '', 'http://hub')
  const parts = pathname.slice(1).split('/').map(decodeURIComponent)
  if (parts[0] === 'api') {
    const id = parts.slice(2, 4).join('/')
    const [, file] = Object.entries(files).find(([name]) => name.startsWith(`${id}/`)) ?? []
    const { movedTo } = file ?? {}
    if (movedTo === undefined) sendModelInfo(files, id, response)
    else redirectModelInfo(movedTo, parts.slice(4).join('/'), response)
    return
  }
  const [owner = '', repository = '', , revision = '', ...path] = parts
  const at = `${owner}/${repository}`
  const name = `${at}/${revision}/${path.join('/')}`
  const file = files[name]
  const has = (start: string): boolean => Object.keys(files).some(known => known.startsWith(start))
  const sent = request.headers.authorization
  const restricted = `Access to model ${at} is restricted.`
  if (!has(`${at}/`)) refuse(response, 401, 'RepoNotFound', 'Invalid username or password.')
  else if (!has(`${at}/${revision}/`))
    refuse(response, 404, 'RevisionNotFound', `Invalid rev id: ${revision}`)
  else if (file === undefined) refuse(response, 404, 'EntryNotFound', 'Entry not found')
  else if (file.movedTo !== undefined)
    response
      .writeHead(307, { location: `/${file.movedTo}/resolve/${revision}/${path.join('/')}` })
      .end()
  else if (file.gated && sent === undefined) refuse(response, 401, 'GatedRepo', restricted)
  else if (file.gated && sent !== `Bearer ${file.gated.token}`)
    refuse(response, 403, 'GatedRepo', restricted)
  else redirect(response, `${storageUrl}/${encodeURIComponent(name)}`, file)
}

/** Commit of every repository. */
export const HUB_COMMIT = '0123456789abcdef0123456789abcdef01234567'

/** Answers 307, as the hub does for a repository that was renamed. */
const redirectModelInfo = (movedTo: string, rest: string, response: ServerResponse): void => {
  const [, host = '', id] = /^(https?:\/\/[^/]+\/)?(.*)$/.exec(movedTo) ?? []
  response.writeHead(307, { location: `${host || '/'}api/models/${id}/${rest}?blobs=true` }).end()
}

/** Answers `/api/models/{id}/revision/{revision}?blobs=true` for the files at the commit. */
const sendModelInfo = (
  files: Record<string, HubFile>,
  id: string,
  response: ServerResponse,
): void => {
  const start = `${id}/${HUB_COMMIT}/`
  const found = Object.entries(files).filter(([name]) => name.startsWith(start))
  if (found.length === 0) {
    refuse(response, 401, 'RepoNotFound', 'Invalid username or password.')
    return
  }
  const siblings = found.map(([name, { content, etag }]) => ({
    rfilename: name.slice(start.length),
    size: content.length,
    blobId: 'b1946ac92492d2347c6235b4d2611184',
    lfs: { sha256: etag ?? hash('sha256', content), size: content.length, pointerSize: 134 },
  }))
  const about = { _id: '66a0', id, modelId: id, sha: HUB_COMMIT, private: false, gated: false }
  const readme = { rfilename: 'README.md', size: 5174, blobId: 'ce013625030ba8dba906f756967f9e9c' }
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(
    JSON.stringify({
      ...about,
      cardData: { license: 'apache-2.0' },
      siblings: [readme, ...siblings],
    }),
  )
}

const SIGNED = 'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=3600&X-Amz-Signature=0123'

const redirect = (response: ServerResponse, to: string, { content, etag, size }: HubFile): void => {
  response
    .writeHead(302, {
      location: `${to}?${SIGNED}`,
      'x-repo-commit': HUB_COMMIT,
      'x-linked-etag': `"${etag ?? hash('sha256', content)}"`,
      'x-linked-size': String(size ?? content.length),
      'accept-ranges': 'bytes',
      'content-type': 'text/plain; charset=utf-8',
    })
    .end('Found. Redirecting to storage')
}

const refuse = (response: ServerResponse, status: number, code: string, message: string): void => {
  const headers = { 'x-error-code': code, 'x-error-message': message }
  response.writeHead(status, { ...headers, 'content-type': 'text/plain' }).end(message)
}

const xml = (response: ServerResponse, status: number, code: string): void => {
  const text = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>`
  response.writeHead(status, { 'content-type': 'application/xml' }).end(text)
}

/** The tag of the storage is no digest of ours. */
const STORAGE_TAG = '"9b2cf535f27731c974343645a3985328-5"'

const sendBytes = (
  request: IncomingMessage,
  response: ServerResponse,
  content: Buffer,
  cut: boolean,
): void => {
  const { range, 'if-range': ifRange } = request.headers
  const asked = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0)
  const from = ifRange === undefined || ifRange === STORAGE_TAG ? asked : 0
  const body = content.subarray(from)
  response.writeHead(from > 0 ? 206 : 200, {
    etag: STORAGE_TAG,
    'accept-ranges': 'bytes',
    'content-length': body.length,
    'content-type': 'application/octet-stream',
    ...(from > 0 && { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` }),
  })
  if (cut) response.write(body.subarray(0, body.length / 2), () => response.destroy())
  else response.end(body)
}

const serve = async (
  t: Test,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ url: string; requests: IncomingMessage[] }> => {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    handle(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}
