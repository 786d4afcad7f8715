#!/usr/bin/env node
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

/*
 * `npm run gpu-engines`: brings the engines for GPUs (CUDA, Vulkan; 632 MB) beside the one for the
 * CPU, which is all that `npm ci` installs. The `overrides` in package.json put an engine that npm
 * never installs on Linux in their place. `npm ci` removes them again.
 */

const root = resolve(import.meta.dirname, '..')
const list = join(import.meta.dirname, 'gpu-engines')
const SCOPE = join('node_modules', '@node-llama-cpp')
const engines = join(root, SCOPE)

if (!existsSync(engines)) {
  console.error('npm run gpu-engines: the engine for the CPU is not here; run npm ci before')
  process.exit(66)
}
const { status } = spawnSync('npm', ['ci', '--prefix', list], { stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 71)
mkdirSync(join(list, SCOPE), { recursive: true })
const names = readdirSync(join(list, SCOPE))
for (const name of names) {
  rmSync(join(engines, name), { recursive: true, force: true })
  renameSync(join(list, SCOPE, name), join(engines, name))
}
rmSync(join(list, 'node_modules'), { recursive: true })
console.log(
  names.length > 0
    ? `engines for GPUs: ${names.join(', ')}`
    : `there are no engines for GPUs for ${process.platform} ${process.arch}`,
)
