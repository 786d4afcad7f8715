import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'

const root = resolve(import.meta.dirname, '..', '..')

type Arrow = readonly [folder: string, from: string]

/** Plants one import per arrow into a tree that has our lint rules, and tells which are refused. */
const refused = (t: Test, arrows: readonly Arrow[]): ReadonlySet<string> => {
  const tree = mkdtempSync(join(tmpdir(), 'shoal-arrows-'))
  t.teardown(() => rmSync(tree, { recursive: true }))
  copyFileSync(join(root, 'biome.json'), join(tree, 'biome.json'))
  arrows.forEach(([folder, from], i) => {
    mkdirSync(join(tree, folder), { recursive: true })
    const code = `import * as planted from '${from}'\n\nexport default planted\n`
    writeFileSync(join(tree, folder, `planted-${i}.ts`), code)
  })
  const args = ['lint', '--reporter=github', '--max-diagnostics=none', '.']
  const { stdout } = spawnSync(join(root, 'node_modules/.bin/biome'), args, {
    cwd: tree,
    encoding: 'utf8',
  })
  const lines = stdout.split('\n').filter(line => line.includes('noRestrictedImports'))
  return new Set(lines.map(line => /planted-(\d+)\.ts/.exec(line)?.[1] ?? line))
}

const forbidden: Arrow[] = [
  ['shared', '../coordinator/config.ts'],
  ['shared/wire', '../../daemon/config.ts'],
  ['shared', '../devices/plan.ts'],
  ['shared', '../discovery/module.ts'],
  ['shared', '../clients/cli/api.ts'],
  ['shared', '../models/bundled.ts'],
  ['discovery', '../daemon/config.ts'],
  ['discovery', '../coordinator/config.ts'],
  ['discovery', '../devices/plan.ts'],
  ['devices', '../discovery/module.ts'],
  ['devices', '../coordinator/config.ts'],
  ['daemon', '../coordinator/config.ts'],
  ['daemon', '../clients/cli/api.ts'],
  ['daemon/inference', 'node-llama-cpp'],
  ['daemon/probes', 'systeminformation'],
  ['daemon/helper', 'systeminformation'],
  ['daemon/helper/child', 'node-llama-cpp'],
  ['daemon/inference/child', '../../../coordinator/config.ts'],
  ['clients/cli', '../../coordinator/config.ts'],
  ['clients/cli', '../../daemon/config.ts'],
  ['coordinator', '../daemon/config.ts'],
  ['coordinator', '../models/bundled.ts'],
  ['coordinator', 'node-llama-cpp'],
  ['coordinator/http', '../app.ts'],
  ['coordinator/http', '../../daemon/config.ts'],
  ['coordinator/broker', '../serve.ts'],
  ['coordinator/link', '../main.ts'],
  ['coordinator/skills', '../http/auth.ts'],
  ['coordinator/operations', '../broker/bus.ts'],
  ['coordinator/fleet', '../http/auth.ts'],
  ['coordinator/fleet', '../link/link.ts'],
  ['coordinator/fleet', '../broker/bus.ts'],
  ['coordinator/fleet', '../app.ts'],
  ['coordinator/keys', '../skills/skill.ts'],
  ['coordinator/quota', '../http/answer-headers.ts'],
  ['coordinator/audit', '../a2a/card.ts'],
  ['coordinator/events', '../mcp/server.ts'],
  ['coordinator/store', '../admin.ts'],
  ['coordinator/conversations', '../operations/operation.ts'],
  ['coordinator/queue', '../operations/operation.ts'],
  ['coordinator/outbound', '../http/auth.ts'],
  ['coordinator/webhooks', '../http/auth.ts'],
  ['coordinator', '../test/support/app.ts'],
]

t.test('an import against the arrows of the architecture is refused', async t => {
  const found = refused(t, forbidden)
  forbidden.forEach(([folder, from], i) => {
    t.ok(found.has(String(i)), `${folder} may not import ${from}`)
  })
})

const allowed: Arrow[] = [
  ['daemon', '../shared/ids.ts'],
  ['daemon/inference', '../../models/bundled.ts'],
  ['daemon/inference/child', 'node-llama-cpp'],
  ['daemon/helper/child', 'systeminformation'],
  ['coordinator/http', '../fleet/fleet.ts'],
  ['coordinator/fleet', '../../shared/ids.ts'],
  ['coordinator', './http/auth.ts'],
  ['clients/cli', '../../shared/errors.ts'],
]

t.test('an import along the arrows passes', async t => {
  t.strictSame(refused(t, allowed), new Set())
})
