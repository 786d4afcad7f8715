import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { bundledModels } from '../../models/bundled.ts'
import { writeRandomModel } from '../../models/gguf/random-model.ts'
import { startStack, type TestStack } from '../support/stack.ts'

/**
 * Client programs of others, unmodified and installed beside the tree, against a coordinator and a
 * cell in a network namespace without a way out: each completes a turn, a call of a function where
 * it can force one, and a second turn.
 */
const PINNED = {
  '@openai/agents': '0.20.0',
  '@openai/codex': '0.169.0',
  ai: '7.0.173',
  'cohere-ai': '8.1.0',
  'ollama-ai-provider-v2': '4.0.1',
  zod: '4.6.7',
}
const INSIDE = '--inside'
const DRIVERS = resolve(import.meta.dirname, 'clients')

export const main = async (argv: string[]): Promise<boolean> => {
  if (argv[0] === INSIDE) return runInside(argv[1] ?? '')
  const folder = install()
  if (folder === undefined) return false
  const script = 'ip link set lo up && exec "$0" "$@"'
  const run = [process.execPath, join(import.meta.dirname, 'run.ts'), 'clients', INSIDE, folder]
  const child = spawn('unshare', ['-n', '--', 'sh', '-c', script, ...run], { stdio: 'inherit' })
  child.on('error', () => console.log('needs root, unshare and iproute2'))
  const [code] = await once(child, 'exit')
  return code === 0
}

/** Folder of the clients, which stays for the next run. */
const install = (): string | undefined => {
  const folder = join(tmpdir(), 'shoal-clients')
  const manifest = JSON.stringify({ private: true, dependencies: PINNED })
  const path = join(folder, 'package.json')
  if (!existsSync(path) || readFileSync(path, 'utf8') !== manifest) {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder)
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
    writeFileSync(path, manifest)
    const { status } = spawnSync('npm', args, { cwd: folder, stdio: 'inherit' })
    if (status !== 0) {
      rmSync(folder, { recursive: true, force: true })
      console.log('the clients were not installed: npm needs its registry')
      return undefined
    }
  }
  cpSync(DRIVERS, folder, { recursive: true })
  return folder
}

const RANKING = {
  embeddingLength: 64,
  blockCount: 1,
  headCount: 2,
  headCountKv: 1,
  feedForwardLength: 64,
  vocabularySize: 512,
  contextLength: 512,
  type: 'Q8_0',
  seed: 1,
  ranks: true,
} as const

/** Room for a prompt of Codex, which has some 10,000 tokens. */
const LONG_CONTEXT = 65_536

/** Writes the bundled model with another context in its header: what it says then makes no sense. */
const writeLongModel = (path: string): void => {
  const file = bundledModels.find(({ id }) => id === 'shoal-demo-large')?.file ?? ''
  const bytes = readFileSync(file)
  const key = 'llama.context_length'
  // the key is followed by the type of the value, four bytes
  bytes.writeUInt32LE(LONG_CONTEXT, bytes.indexOf(key) + key.length + 4)
  writeFileSync(path, bytes)
}

const runInside = async (folder: string): Promise<boolean> => {
  const isOpen = await fetch('http://192.0.2.1', { signal: AbortSignal.timeout(2000) }).then(
    () => true,
    error => error.cause?.code !== 'ENETUNREACH',
  )
  if (isOpen) {
    console.log('the namespace has a way out')
    return false
  }
  const weights = mkdtempSync(join(tmpdir(), 'shoal-clients-weights-'))
  const long = join(weights, 'long.gguf')
  const ranks = join(weights, 'ranks.gguf')
  writeLongModel(long)
  writeRandomModel(ranks, RANKING)
  const base = { minimum_tier: 'free', context_length: 2048 }
  const stack = await startStack({
    catalogue: [
      { ...base, id: 'model-a:7b', kind: 'chat', weights: 'bundled:shoal-demo-large' },
      { ...base, id: 'long', kind: 'chat', weights: long, context_length: LONG_CONTEXT },
      { ...base, id: 'ranks', kind: 'rerank', weights: ranks, context_length: 512 },
    ],
    inference: { threads: 1, gpu: 'off', slots: 1 },
  })
  try {
    const drivers = globSync('*.mjs', { cwd: DRIVERS }).toSorted()
    const results: boolean[] = []
    for (const driver of drivers) results.push(await drive(join(folder, driver), stack))
    return results.every(Boolean)
  } finally {
    await stack.stop()
    rmSync(weights, { recursive: true, force: true })
  }
}

const DEADLINE_MS = 300_000

/** Runs one client; its driver prints the responses and fails when one is missing. */
const drive = async (path: string, { url, keys }: TestStack): Promise<boolean> => {
  const home = mkdtempSync(join(tmpdir(), 'shoal-client-'))
  const { PATH } = process.env
  const env = { PATH, HOME: home, SHOAL_URL: url, SHOAL_KEY: keys.enterprise }
  const child = spawn(process.execPath, [path], { env, stdio: 'inherit', timeout: DEADLINE_MS })
  const [code] = await once(child, 'exit')
  rmSync(home, { recursive: true, force: true })
  if (code !== 0) console.log(`${path} ended with ${code}`)
  return code === 0
}
