import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startFixtures } from './server.ts'

const BINARY = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
)

/**
 * What must hold of each revision. That of 2025-11-25 is served without sessions, so what a server
 * asks of its client in the middle of a call cannot be: the expected failures name it.
 */
const RUNS = {
  '2026-07-28': ['--requirements', '2026-07-28'],
  '2025-11-25': [
    '--spec-version',
    '2025-11-25',
    '--expected-failures',
    join(import.meta.dirname, 'expected-failures.yaml'),
  ],
} as const

type Revision = keyof typeof RUNS

/** Runs the public conformance suite against the endpoint: its exit code, and what it printed. */
export const runConformance = async (
  revision: Revision,
): Promise<{ code: number; output: string }> => {
  const server = await startFixtures()
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'))
  try {
    const child = spawn(
      process.execPath,
      [BINARY, 'server', '--url', server.url, ...RUNS[revision], '-o', folder],
      { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder },
    )
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', piece => {
        output += piece
      })
    const [code] = (await once(child, 'exit')) as [number | null]
    return { code: code ?? 1, output }
  } finally {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const revisions = Object.keys(RUNS) as Revision[]
  for (const revision of revisions) {
    const { code, output } = await runConformance(revision)
    process.stdout.write(
      `${output}\n${revision}: ${code === 0 ? 'as it must be' : 'NOT as it must be'}\n`,
    )
    if (code !== 0) process.exitCode = 1
  }
}
