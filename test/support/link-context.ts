import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Test } from 'tap'
import type { LinkContext } from '../../devices/device-link.ts'

/** Context of a link whose scope is the loopback; its folder is removed when the test ends. */
export const createLinkContext = (t: Test, more: Partial<LinkContext> = {}): LinkContext => {
  const stateDir = mkdtempSync(join(tmpdir(), 'shoal-link-'))
  t.teardown(() => rmSync(stateDir, { recursive: true }))
  return {
    cellId: 'cell_01jd0000000000000000000001',
    logger: pino({ level: 'silent' }),
    now: Date.now,
    nowMs: () => performance.now(),
    resolveHost: async host => host,
    readSecret: async path => path,
    stateDir,
    env: {},
    ...more,
  }
}

/** A signal that aborts when the test ends. */
export const createEnd = (t: Test): AbortSignal => {
  const controller = new AbortController()
  t.teardown(() => controller.abort())
  return controller.signal
}
