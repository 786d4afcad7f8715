import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Approach } from '../../../daemon/inference/approach.ts'
import { createAddressGuard } from '../../../daemon/inference/downloads/address-guard.ts'
import { ModelFolder } from '../../../daemon/inference/downloads/model-folder.ts'
import { Leftovers } from '../../../daemon/inference/leftovers.ts'
import { resolveWeights, type Weights } from '../../../daemon/inference/weights.ts'
import { writeRandomModel } from '../../../models/gguf/random-model.ts'
import { Catalogue } from '../../../shared/catalogue.ts'
import { parseWeightsSource } from '../../../shared/weights-source.ts'
import { SMALL } from './fixtures.ts'
import { type HubFile, startHub } from './hub.ts'
import { TestClock } from './test-clock.ts'

type ModelFolderOptions = ConstructorParameters<typeof ModelFolder>[0]

const MIB = 1024 * 1024
const CONTENT = Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(MIB, 'shoal')])
const SHA256 = hash('sha256', CONTENT)

/** Weights that an engine could load. */
const scratch = t.testdir()
const modelFile = join(scratch, 'model.gguf')
writeRandomModel(modelFile, SMALL)
const GOOD = readFileSync(modelFile)

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** Sends the file as a good server does: ranges with a strong tag. */
const serveFile =
  ({ content = CONTENT, etag = '"one"' as string | null } = {}): Answer =>
  (request, response) => {
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
    const partly = from > 0 && request.headers['if-range'] === etag
    if (etag !== null) response.setHeader('etag', etag)
    if (partly && from >= content.length) {
      response.writeHead(416, { 'content-range': `bytes */${content.length}` }).end()
      return
    }
    const range = `bytes ${from}-${content.length - 1}/${content.length}`
    const body = partly ? content.subarray(from) : content
    response.writeHead(partly ? 206 : 200, {
      'content-length': body.length,
      ...(partly && { 'content-range': range }),
    })
    response.end(body)
  }

/** Sends the first half of what it should and cuts the connection. */
const cutAt =
  (bytes: number, etag: string | null = '"one"'): Answer =>
  (_request, response) => {
    if (etag !== null) response.setHeader('etag', etag)
    response.writeHead(200, { 'content-length': CONTENT.length })
    response.write(CONTENT.subarray(0, bytes), () => response.destroy())
  }

/** A server that gives its answers in turn, the last one for ever, and a folder for weights. */
const setup = async (t: Test, answers: Answer[], more: Partial<ModelFolderOptions> = {}) => {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)] as Answer
    requests.push(request)
    answer(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const modelsDir = join(mkdtempSync(join(scratch, 'place-')), 'models')
  const clock = new TestClock()
  const wanted = new Set<string>()
  const waits: number[] = []
  const folder = new ModelFolder({
    folder: modelsDir,
    maxBytes: 10 * MIB,
    stallSeconds: 60,
    listWanted: () => wanted,
    clock,
    freeBytes: async () => undefined,
    wait: async milliseconds => void waits.push(milliseconds),
    ...more,
  })
  const weights = (path = '/w.gguf', sha256 = SHA256, text = `${url}${path}`): Weights => {
    const entry = { id: 'm', kind: 'chat', minimum_tier: 'free', context_length: 512 }
    const [parsed] = Catalogue.parse([{ ...entry, weights: text, sha256 }])
    return resolveWeights(parsed as Catalogue[number], { modelsDir, hubUrl: url })
  }
  const never = new AbortController().signal
  const fetchOnce = (of = weights(), onProgress = (_done: number, _total?: number): void => {}) =>
    folder.fetch(of, onProgress, never)
  return { url, requests, folder, modelsDir, clock, wanted, waits, weights, fetchOnce }
}

t.test('a fetch of weights', async t => {
  t.test('stores them once under their digest, with progress', async t => {
    const { fetchOnce, weights, modelsDir, requests } = await setup(t, [serveFile()])
    const seen: number[] = []
    await fetchOnce(weights(), (done, total) => {
      t.equal(total, CONTENT.length)
      seen.push(done)
    })
    t.equal(seen.at(-1), CONTENT.length)
    t.strictSame(readdirSync(modelsDir), [`sha256-${SHA256}.gguf`])
    t.ok(readFileSync(weights().file).equals(CONTENT))
    await fetchOnce(weights('/the/same/elsewhere.gguf'))
    t.equal(requests.length, 1)
  })

  t.test('shares one download among simultaneous callers', async t => {
    const { fetchOnce, weights, requests } = await setup(t, [serveFile()])
    const seen: number[] = []
    const both = [fetchOnce(), fetchOnce(weights(), done => seen.push(done))]
    await Promise.all(both)
    t.equal(requests.length, 1)
    t.equal(seen.at(-1), CONTENT.length)
  })

  t.test('needs a digest unless it may be unchecked', async t => {
    const { fetchOnce, weights } = await setup(t, [serveFile()])
    const unchecked = { ...weights(), sha256: undefined, file: `${weights().file}.unchecked` }
    await fetchOnce(unchecked)
    t.ok(existsSync(unchecked.file))
  })

  t.test('follows redirects, also to another path of the server', async t => {
    const redirect: Answer = (_, response) => response.writeHead(302, { location: '/cdn' }).end()
    const { fetchOnce, weights, requests } = await setup(t, [redirect, serveFile()])
    await fetchOnce()
    t.ok(existsSync(weights().file))
    t.equal(requests[1]?.url, '/cdn')
  })
})

t.test('the token of the hub', async t => {
  const hubWeights = (at: Awaited<ReturnType<typeof setup>>) =>
    at.weights('/x', SHA256, 'hf:o/r/f.gguf')
  t.test('is sent to the hub, and to no redirect target', async t => {
    const elsewhere = await setup(t, [serveFile()])
    const away: Answer = (_, response) =>
      response.writeHead(302, { location: `${elsewhere.url}/cdn` }).end()
    const hubTokenFile = join(t.testdir({ token: 'hf_secret\n' }), 'token')
    const hub = await setup(t, [away], { hubTokenFile })
    await hub.fetchOnce(hubWeights(hub))
    t.equal(hub.requests[0]?.headers.authorization, 'Bearer hf_secret')
    t.equal(hub.requests[0]?.url, '/o/r/resolve/main/f.gguf')
    t.equal(elsewhere.requests[0]?.headers.authorization, undefined)
  })
  t.test('is sent to no other address of the catalogue', async t => {
    const hubTokenFile = join(t.testdir({ token: 'hf_secret' }), 'token')
    const { fetchOnce, requests } = await setup(t, [serveFile()], { hubTokenFile })
    await fetchOnce()
    t.equal(requests[0]?.headers.authorization, undefined)
  })
  t.test('that cannot be read is reported', async t => {
    const at = await setup(t, [serveFile()], { hubTokenFile: '/nonexistent' })
    await t.rejects(at.fetchOnce(hubWeights(at)), {
      again: 'later',
      message: /^inference.hub_token_file: ENOENT/,
    })
    t.equal(at.requests.length, 0)
  })
})

t.test('weights of a hub', async t => {
  /** A hub with one file, and a folder that fetches from it. */
  const setupHub = async (t: Test, file: Partial<HubFile> = {}, token?: string) => {
    const hub = await startHub(t, { 'o/r/v1/q/f.gguf': { content: CONTENT, ...file } })
    const modelsDir = join(mkdtempSync(join(scratch, 'hub-')), 'models')
    const hubTokenFile =
      token === undefined ? undefined : join(t.testdir({ token: `${token}\n` }), 'token')
    const folder = new ModelFolder({
      folder: modelsDir,
      maxBytes: 10 * MIB,
      stallSeconds: 60,
      clock: new TestClock(),
      listWanted: () => new Set<string>(),
      hubTokenFile,
      freeBytes: async () => undefined,
      wait: async () => {},
    })
    const fetch = async (text = 'hf:o/r/q/f.gguf@v1', checked = true): Promise<Buffer> => {
      const entry = { id: 'm', kind: 'chat', minimum_tier: 'free', context_length: 512 }
      const sum = checked ? { sha256: SHA256 } : { unchecked: true }
      const [parsed] = Catalogue.parse([{ ...entry, weights: text, ...sum }])
      const places = { modelsDir, hubUrl: hub.url }
      const weights = resolveWeights(parsed as Catalogue[number], places)
      await folder.fetch(weights, () => {}, new AbortController().signal)
      return readFileSync(weights.file)
    }
    return { hub, fetch }
  }

  t.test('come from the signed storage address, without the token', async t => {
    const { hub, fetch } = await setupHub(t, { gated: { token: 'hf_x' } }, 'hf_x')
    t.ok((await fetch()).equals(CONTENT))
    t.equal(hub.requests[0]?.headers.authorization, 'Bearer hf_x')
    t.equal(hub.storage.requests.length, 1)
  })
  t.test('continue where they stopped, with a newly signed address', async t => {
    const { hub, fetch } = await setupHub(t)
    hub.faults.push('cut', 'expired')
    t.ok((await fetch()).equals(CONTENT))
    t.equal(hub.requests.length, 3)
    t.match(hub.storage.requests[2]?.headers.range, /^bytes=\d+-$/)
  })
  t.test('keep the token when the repository has another name', async t => {
    const token = 'hf_x'
    const hub = await startHub(t, {
      'o/r/v1/q/f.gguf': { content: CONTENT, movedTo: 'n/r' },
      'n/r/v1/q/f.gguf': { content: CONTENT, gated: { token } },
    })
    const file = join(t.testdir({ token }), 'token')
    const at = await setup(t, [], { hubTokenFile: file })
    const weights = at.weights('/x', SHA256, 'hf:o/r/q/f.gguf@v1')
    const url = new URL(`${hub.url}${weights.url?.pathname}`)
    await at.fetchOnce({ ...weights, url })
    t.ok(readFileSync(weights.file).equals(CONTENT))
  })
  for (const [title, token, text, message] of [
    ['that is gated', undefined, undefined, /answers 401 .*Access to model o\/r is restricted/],
    ['that gives this token nothing', 'hf_y', undefined, /answers 403 .*restricted/],
    ['that has no such repository', undefined, 'hf:o/x/q/f.gguf@v1', /401 .*Invalid username/],
    ['that has no such revision', 'hf_x', 'hf:o/r/q/f.gguf@v2', /404 .*Invalid rev id: v2/],
    ['that has no such file', 'hf_x', 'hf:o/r/g.gguf@v1', /404 .*Entry not found/],
  ] as const)
    t.test(`${title} are refused once, with the message of the hub`, async t => {
      const { hub, fetch } = await setupHub(t, { gated: { token: 'hf_x' } }, token)
      await t.rejects(fetch(text), { again: 'never', message })
      t.equal(hub.requests.length, 1)
    })
  t.test('that have changed are refused before the download', async t => {
    const { fetch } = await setupHub(t, { etag: 'a'.repeat(64) })
    await t.rejects(fetch(), { again: 'never', message: /has another file there/ })
  })
  t.test("without a configured digest are checked against the hub's", async t => {
    const wrong = await setupHub(t, { etag: 'a'.repeat(64) })
    await t.rejects(wrong.fetch(undefined, false), { message: /its sha256 is/ })
    const right = await setupHub(t)
    t.ok((await right.fetch(undefined, false)).equals(CONTENT))
    const small = await setupHub(t, { etag: 'c0ffee' })
    t.ok((await small.fetch(undefined, false)).equals(CONTENT), 'not every tag is a digest')
  })
})

t.test('an interrupted download', async t => {
  t.test('continues where it stopped', async t => {
    const { fetchOnce, requests, waits } = await setup(t, [cutAt(MIB / 2), serveFile()])
    await fetchOnce()
    t.match(requests[1]?.headers, { range: /^bytes=\d+-$/, 'if-range': '"one"' })
    t.equal(requests.length, 2)
    t.strictSame(waits, [1000])
  })

  t.test('continues after a restart of the daemon', async t => {
    const answers: Answer[] = [cutAt(MIB / 2), (_, response) => response.destroy()]
    const at = await setup(t, answers)
    await t.rejects(at.fetchOnce(), { name: 'DownloadError', again: 'later' })
    t.ok(existsSync(`${at.weights().file}.part`))
    answers.push(serveFile())
    const next = new ModelFolder({
      folder: at.modelsDir,
      maxBytes: 10 * MIB,
      stallSeconds: 60,
      listWanted: () => at.wanted,
      clock: at.clock,
    })
    await next.fetch(at.weights(), () => {}, new AbortController().signal)
    t.match(at.requests.at(-1)?.headers.range, /^bytes=\d+-$/)
    t.ok(readFileSync(at.weights().file).equals(CONTENT))
  })

  t.test('restarts when the file has changed', async t => {
    const answers = [cutAt(MIB / 2, '"old"'), serveFile()]
    const { fetchOnce, weights, requests } = await setup(t, answers)
    await fetchOnce()
    t.equal(requests[1]?.headers['if-range'], '"old"')
    t.ok(readFileSync(weights().file).equals(CONTENT))
  })

  t.test('restarts at a server that reports no version', async t => {
    const answers = [cutAt(MIB / 2, null), serveFile({ etag: null })]
    const { fetchOnce, weights, requests } = await setup(t, answers)
    await fetchOnce()
    t.equal(requests[1]?.headers.range, undefined)
    t.ok(readFileSync(weights().file).equals(CONTENT))
  })

  t.test('restarts when the server sends another part', async t => {
    const answerWrongPart: Answer = (_, response) =>
      response.writeHead(206, { 'content-range': `bytes 7-9/${CONTENT.length}` }).end('xyz')
    const { fetchOnce, weights } = await setup(t, [cutAt(MIB / 2), answerWrongPart, serveFile()])
    await fetchOnce()
    t.ok(readFileSync(weights().file).equals(CONTENT))
  })

  t.test('is complete once all bytes have arrived', async t => {
    const { fetchOnce, weights, requests } = await setup(t, [serveFile()])
    mkdirSync(join(weights().file, '..'), { recursive: true })
    writeFileSync(`${weights().file}.part`, CONTENT)
    writeFileSync(`${weights().file}.part.version`, '"one"')
    await fetchOnce()
    t.equal(requests[0]?.headers.range, `bytes=${CONTENT.length}-`)
    t.ok(readFileSync(weights().file).equals(CONTENT))
  })

  t.test('is given up after five attempts without progress, and kept', async t => {
    const dropConnection: Answer = (_, response) => response.destroy()
    const { fetchOnce, waits, requests } = await setup(t, [dropConnection])
    await t.rejects(fetchOnce(), { again: 'later', message: /^it cannot be fetched from 127/ })
    t.equal(requests.length, 5)
    t.strictSame(waits, [1000, 2000, 4000, 8000])
  })

  t.test('is resumed when the server is busy, but not when the file is missing', async t => {
    const status =
      (code: number): Answer =>
      (_, response) =>
        response.writeHead(code).end()
    const busy = await setup(t, [status(503), status(429), serveFile()])
    await busy.fetchOnce()
    t.equal(busy.requests.length, 3)
    const absent = await setup(t, [status(404)])
    await t.rejects(absent.fetchOnce(), { again: 'never', message: /answers 404 for \/w.gguf/ })
    t.equal(absent.requests.length, 1)
  })

  t.test('is resumed after a server that sends almost nothing', async t => {
    const slow: Answer = (_, response) => {
      response.writeHead(200, { 'content-length': CONTENT.length, etag: '"one"' })
      response.write(CONTENT.subarray(0, 100))
    }
    const { fetchOnce, weights, clock, requests } = await setup(t, [slow, serveFile()])
    await fetchOnce(weights(), done => {
      // the first span brought something, the second does not
      if (requests.length === 1 && done === 100) clock.advance(120_000)
    })
    t.equal(requests[1]?.headers.range, 'bytes=100-')
  })

  t.test('is cancelled when no caller waits for it any more', async t => {
    const { folder, weights, requests } = await setup(t, [
      (_, response) => {
        response.writeHead(200, { 'content-length': CONTENT.length, etag: '"one"' })
        response.write(CONTENT.subarray(0, 100))
      },
      serveFile(),
    ])
    const [first, second] = [new AbortController(), new AbortController()]
    const begun = new Promise<void>(resolve => {
      const ended = [
        folder.fetch(weights(), done => done > 0 && resolve(), first.signal),
        folder.fetch(weights(), () => {}, second.signal),
      ]
      for (const each of ended) each.catch(() => {})
    })
    await begun
    const closed = new Promise(resolve => requests[0]?.socket.once('close', resolve))
    first.abort()
    t.equal(requests[0]?.socket.destroyed, false, 'one still waits')
    second.abort()
    await closed
    await folder.fetch(weights(), () => {}, new AbortController().signal)
    t.equal(requests[1]?.headers.range, 'bytes=100-')
  })
})

t.test('weights are rejected', async t => {
  t.test('with an unexpected digest, and are deleted', async t => {
    const content = Buffer.concat([CONTENT, Buffer.from('x')])
    const { fetchOnce, modelsDir } = await setup(t, [serveFile({ content })])
    await t.rejects(fetchOnce(), { again: 'never', message: /^its sha256 is .* it was deleted$/ })
    t.strictSame(readdirSync(modelsDir), [])
  })

  t.test('when they are damaged, and are fetched again the next time', async t => {
    const { fetchOnce, folder, weights, requests } = await setup(t, [serveFile({ content: GOOD })])
    const good = weights('/w.gguf', hash('sha256', GOOD))
    await fetchOnce(good)
    writeFileSync(good.file, Buffer.concat([GOOD, Buffer.from('x')]))
    const parts = {
      clock: new TestClock(),
      leftovers: new Leftovers(new TestClock()),
      fetch: (...order: Parameters<ModelFolder['fetch']>) => folder.fetch(...order),
      makeRoom: async () => {},
      onChange: () => {},
    }
    const limits = { slots: 1, queue: 0, queueBytes: 0, queueTimeoutSeconds: 1 }
    const machine = { threads: 1, gpu: 'off' as const, loadTimeoutSeconds: 1 }
    const model = { weights: good, kind: 'chat' as const, contextLength: 512, limits }
    const options = { ...model, ...machine }
    const approach = new Approach(options, parts)
    const load = () => approach.run('m', true, new AbortController().signal)
    await t.rejects(load(), {
      name: 'DownloadError',
      again: 'later',
      message: /^its sha256 is not/,
    })
    await load()
    t.equal(requests.length, 2)
    t.ok(approach.needBytes)
  })

  t.test('when the download is not a GGUF file', async t => {
    const page = serveFile({ content: Buffer.from('<html>Please sign in</html>') })
    const { fetchOnce } = await setup(t, [page])
    await t.rejects(fetchOnce(), { again: 'never', message: 'the download is not a GGUF file' })
  })

  t.test('when a redirect leads to plain http elsewhere, or in a circle', async t => {
    const redirectTo =
      (location: string): Answer =>
      (_, response) =>
        response.writeHead(302, { location }).end()
    const elsewhere = await setup(t, [redirectTo('http://weights.example/w.gguf')])
    await t.rejects(elsewhere.fetchOnce(), { again: 'never', message: /plain http/ })
    const circle = await setup(t, [redirectTo('/again')])
    await t.rejects(circle.fetchOnce(), { again: 'never', message: /more than 5 times/ })
  })

  t.test('when they are larger than the folder may be', async t => {
    const { fetchOnce, weights } = await setup(t, [serveFile({ etag: null })], {
      maxBytes: MIB / 2,
    })
    await t.rejects(fetchOnce({ ...weights(), sha256: undefined }), { message: /would hold/ })
  })

  t.test('when the server does not state their size, before a byte is written', async t => {
    const endless: Answer = (_, response) => {
      response.writeHead(200, { etag: '"one"' })
      response.write(CONTENT)
    }
    const { fetchOnce, weights, requests } = await setup(t, [endless])
    await t.rejects(fetchOnce(), { again: 'never', message: /does not state the size of the file/ })
    t.equal(requests.length, 1)
    t.equal(statSync(`${weights().file}.part`).size, 0)
  })

  const setsLimits = spawnSync('prlimit', ['--version']).status === 0
  const skip = setsLimits ? false : 'prlimit is absent'
  t.test('when the disk fills up meanwhile, and their part is deleted', { skip }, async t => {
    const limit = (bytes: number | 'unlimited') =>
      spawnSync('prlimit', [`--pid=${process.pid}`, `--fsize=${bytes}:`])
    // the system refuses to let a file grow, as it does on a full disk
    const ignore = (): void => {}
    process.on('SIGXFSZ', ignore)
    t.teardown(() => {
      limit('unlimited')
      process.off('SIGXFSZ', ignore)
    })
    const { fetchOnce, modelsDir, requests } = await setup(t, [serveFile()])
    limit(MIB / 2)
    await t.rejects(fetchOnce(), { again: 'later', message: 'the disk is full' })
    limit('unlimited')
    t.equal(requests.length, 1)
    t.strictSame(readdirSync(modelsDir), [])
  })

  t.test('when the disk has no room for them', async t => {
    const { fetchOnce } = await setup(t, [serveFile()], { freeBytes: async () => 5 * MIB })
    await t.rejects(fetchOnce(), {
      again: 'later',
      message: /^the disk has 5 MiB free, and 257 MiB are needed$/,
    })
  })
})

t.test('the folder of weights', async t => {
  const putFile = (modelsDir: string, name: string, at: number): string => {
    const path = join(modelsDir, `sha256-${name.repeat(64)}.gguf`)
    mkdirSync(modelsDir, { recursive: true })
    writeFileSync(path, Buffer.alloc(MIB))
    utimesSync(path, at, at)
    return path
  }

  t.test('drops files that the catalogue no longer names, oldest first', async t => {
    const { fetchOnce, modelsDir, wanted } = await setup(t, [serveFile()], { maxBytes: 4.5 * MIB })
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name, i) => putFile(modelsDir, name, 10 - i))
    writeFileSync(join(modelsDir, 'mine.gguf'), Buffer.alloc(3 * MIB))
    wanted.add(d as string)
    await fetchOnce()
    t.strictSame(
      [a, b, c, d].map(path => existsSync(path as string)),
      [true, true, false, true],
    )
    t.ok(existsSync(join(modelsDir, 'mine.gguf')))
  })

  t.test('has room for downloads in progress', async t => {
    const other = Buffer.concat([CONTENT, Buffer.from('other')])
    let finish: () => void = () => {}
    const slow: Answer = (_, response) => {
      response.writeHead(200, { 'content-length': CONTENT.length, etag: '"one"' })
      response.write(CONTENT.subarray(0, 1024))
      finish = () => response.end(CONTENT.subarray(1024))
    }
    const answers = [slow, serveFile({ content: other })]
    const { folder, fetchOnce, weights } = await setup(t, answers, { maxBytes: 1.5 * MIB })
    let first: Promise<void> = Promise.resolve()
    await new Promise<void>(resolve => {
      const progress = (done: number): void => {
        if (done > 0) resolve()
      }
      first = folder.fetch(weights(), progress, new AbortController().signal)
    })
    const second = weights('/other.gguf', hash('sha256', other))
    await t.rejects(fetchOnce(second), { again: 'later', message: /would hold/ })
    finish()
    await first
    t.ok(readFileSync(weights().file).equals(CONTENT))
  })

  t.test('keeps files that the catalogue names, and reports that it is full', async t => {
    const { fetchOnce, modelsDir, wanted, requests } = await setup(t, [serveFile()], {
      maxBytes: 1.5 * MIB,
    })
    wanted.add(putFile(modelsDir, 'a', 1))
    await t.rejects(fetchOnce(), {
      again: 'later',
      message: /would hold 2 MiB of at most 1.5 MiB/,
    })
    t.equal(requests.length, 1)
  })
})

t.test('the source of weights', async t => {
  const hub = 'hf:owner/some-repo/sub/file.Q4_K_M.gguf@refs/pr/1'
  t.match(parseWeightsSource(hub), {
    kind: 'hub',
    owner: 'owner',
    repository: 'some-repo',
    path: 'sub/file.Q4_K_M.gguf',
    revision: 'refs/pr/1',
  })
  t.match(parseWeightsSource('hf:o/r/f.gguf'), { revision: 'main' })
  t.match(parseWeightsSource('/srv/f.gguf'), { kind: 'file' })
  t.match(parseWeightsSource('bundled:x'), { kind: 'bundled', id: 'x' })
  const entry = { id: 'm', kind: 'chat', minimum_tier: 'free', context_length: 512 }
  const places = { modelsDir: '/models', hubUrl: 'https://hub.example/' }
  const parseWeights = (weights: string, more: object = { unchecked: true }) =>
    Catalogue.safeParse([{ ...entry, weights, ...more }])
  const url = (weights: string) => {
    const [found] = parseWeights(weights).data ?? []
    return resolveWeights(found as Catalogue[number], places).url?.href
  }
  t.equal(
    url(hub),
    'https://hub.example/owner/some-repo/resolve/refs%2Fpr%2F1/sub/file.Q4_K_M.gguf',
  )
  t.equal(url('https://a.example/w.gguf?token=1'), 'https://a.example/w.gguf?token=1')
  t.test('a secret in an address is not shown', async t => {
    const [found] = parseWeights('https://a.example/w.gguf?token=1').data ?? []
    const { label } = resolveWeights(found as Catalogue[number], places)
    t.equal(label, 'https://a.example/w.gguf')
  })
  for (const wrong of [
    'hf:owner/file.gguf',
    'hf:owner/../../file.gguf',
    'hf:owner/repo/file.bin',
    'http://a.example/w.gguf',
    'ftp://a.example/w.gguf',
    'https://me:secret@a.example/w.gguf',
  ])
    t.test(`is refused as ${wrong}`, async t => {
      t.match(parseWeights(wrong).error?.issues, [{ path: [0, 'weights'] }])
    })
  t.test('needs a digest unless the operator allows unchecked weights', async t => {
    const weights = 'https://a.example/w.gguf'
    t.match(parseWeights(weights, {}).error?.issues, [
      { path: [0, 'sha256'], message: /unchecked: true/ },
    ])
    t.ok(parseWeights(weights, { sha256: SHA256 }).success)
    t.ok(parseWeights('/srv/w.gguf', {}).success)
  })
})

t.test('nobody but the configuration of the cell leads a download into its network', async t => {
  const addresses: Record<string, string> = {
    'hub.example': '9.9.9.9',
    'mirror.lan': '10.0.0.7',
    'store.lan': '10.0.0.8',
    'cloud.lan': '169.254.169.254',
  }
  const judge = async (isTrusted: boolean, ...hosts: string[]): Promise<string> => {
    const allowed = [{ host: 'store.lan', port: 443 }]
    const resolve = async (host: string) => [{ address: addresses[host] ?? '', family: 4 }]
    const find = createAddressGuard({ isTrusted, allowed, resolve })
    for (const host of hosts) {
      const fault = await find(new URL(`https://${host}/x`)).then(
        () => undefined,
        error => error,
      )
      if (fault !== undefined) return `${host} ${fault.again}`
    }
    return 'reached'
  }
  for (const [isTrusted, hosts, outcome] of [
    [false, ['hub.example', 'hub.example'], 'reached'],
    [false, ['mirror.lan'], 'mirror.lan never'],
    [false, ['127.0.0.1'], '127.0.0.1 never'],
    [false, ['hub.example', 'mirror.lan'], 'mirror.lan never'],
    [false, ['store.lan', 'mirror.lan'], 'mirror.lan never'],
    [true, ['mirror.lan', '10.0.0.9'], 'reached'],
    [true, ['hub.example', 'mirror.lan'], 'mirror.lan never'],
    [true, ['mirror.lan', 'hub.example', 'mirror.lan'], 'mirror.lan never'],
    [true, ['cloud.lan'], 'cloud.lan never'],
  ] as const)
    t.equal(await judge(isTrusted, ...hosts), outcome, hosts.join(' to '))
})
