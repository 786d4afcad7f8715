import { spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { DaemonConfig } from '../../../daemon/config.ts'
import type { CheckSubject } from '../../../daemon/doctor/check.ts'
import { describeEngine, engine } from '../../../daemon/doctor/engine-check.ts'
import { findCudaFiles } from '../../../daemon/gpu/cuda-files.ts'
import { lacksGpuEngines } from '../../../daemon/inference/gpu-engines.ts'
import { gpuMayBePresent } from '../../../daemon/inference/gpu-present.ts'

const PROVE = resolve(import.meta.dirname, '../../prove/run.ts')
const nvidia = { name: 'NVIDIA H200', vendor: 'nvidia' } as const
const amd = { name: 'AMD GPU 0x744c', vendor: 'amd' } as const

/** A folder with a stand-in for nvidia-smi that reports one GPU. */
const standInFolder = (testdir: string): string => {
  const file = join(testdir, 'nvidia-smi')
  const row = '0, GPU-1, 580.95.05, 143771, 4, 0, 30, 75.00, 345, 2619, Disabled, NVIDIA H200'
  writeFileSync(file, `#!/bin/sh\necho '${row}'\ncase "$*" in *--loop*) exec sleep 60;; esac\n`)
  chmodSync(file, 0o755)
  return testdir
}

for (const [title, gpus, device, missing, expected] of [
  ['CUDA', [nvidia], 'cuda', [], { state: 'ok', says: 'the engine uses CUDA' }],
  ['Vulkan on AMD', [amd], 'vulkan', [], { state: 'ok', says: 'the engine uses Vulkan' }],
  [
    'Vulkan on NVIDIA without cuBLAS',
    [nvidia],
    'vulkan',
    ['libcublas.so.13 or libcublas.so.12'],
    {
      state: 'warn',
      says: 'NVIDIA H200 is there, but the engine uses Vulkan: libcublas.so.13 or libcublas.so.12 not found',
      remedy: /LD_LIBRARY_PATH/,
    },
  ],
  [
    'the CPU beside an NVIDIA GPU with all libraries',
    [amd, nvidia],
    'cpu',
    [],
    { state: 'warn', says: /uses the CPU$/, remedy: /log of the daemon/ },
  ],
  ['the CPU beside an AMD GPU', [amd], 'cpu', [], { state: 'warn', remedy: /Vulkan loader/ }],
] as const)
  t.test(`doctor judges an engine that takes ${title}`, async t => {
    t.match(describeEngine(gpus, { device }, { found: [], missing: [...missing] }), expected)
  })

t.test('doctor says when an engine with GPU does not start', async t => {
  const report = describeEngine(
    [nvidia],
    { reason: 'ended with code 1' },
    { found: [], missing: [] },
  )
  t.match(report, {
    state: 'warn',
    says: /does not start: ended with code 1/,
    remedy: /gpu to off/,
  })
})

t.test('doctor looks at the GPUs of this machine', async t => {
  const examine = (path: string, gpu: 'auto' | 'off') =>
    engine({
      config: DaemonConfig.parse({ inference: { gpu } }),
      path,
      signal: AbortSignal.timeout(60_000),
    } as CheckSubject)
  t.match(await examine('/nowhere', 'auto'), { state: 'skip' })
  const path = `${standInFolder(t.testdir())}:${process.env.PATH}`
  t.match(await examine(path, 'off'), { state: 'ok', says: /inference\.gpu is off/ })
  // a driver without device files, as in a container, with engines for GPUs and without
  if (!gpuMayBePresent())
    t.match(await examine(path, 'auto'), {
      state: 'warn',
      says: lacksGpuEngines() ? /no engine for GPUs is installed$/ : /no device file such as/,
    })
})

t.test('the libraries of CUDA are found by their folders, in either version', async t => {
  const folder = t.testdir({
    a: { 'libcuda.so.1': '', 'libcudart.so.12': '' },
    b: { 'libcublas.so.13': '' },
  })
  const libraryPath = `${folder}/a:${folder}/b`
  const places = { libraryPath, folders: [] }
  t.strictSame(findCudaFiles(places), {
    found: [
      `${folder}/a/libcuda.so.1`,
      `${folder}/a/libcudart.so.12`,
      `${folder}/b/libcublas.so.13`,
    ],
    missing: ['libcublasLt.so.13 or libcublasLt.so.12'],
  })
  t.equal(findCudaFiles({ ...places, libraryPath: undefined }).missing.length, 4)
})

t.test('npm run prove -- gpu', async t => {
  const prove = (PATH: string, ...flags: string[]) => {
    const env = { ...process.env, PATH, LD_LIBRARY_PATH: '' }
    return spawnSync(process.execPath, [PROVE, 'gpu', ...flags], { env, encoding: 'utf8' })
  }

  t.test('says that there is no GPU, and lists what a proof needs', async t => {
    const { status, stdout } = prove('/nowhere')
    t.equal(status, 0)
    t.match(stdout, /^no GPU here/)
    t.match(stdout, /linux-x64-cuda' .*142\.9 MB/)
    t.match(stdout, /libcublas\.so\.13/)
  })

  t.test('fails where the engine does not use the GPU that the telemetry sees', async t => {
    const weights = resolve(import.meta.dirname, '../../../models/weights/shoal-demo-small.gguf')
    const path = `${standInFolder(t.testdir())}:${process.env.PATH}`
    const { status, stdout } = prove(path, '--weights', weights, '--threads', '1')
    t.equal(status, 1)
    for (const row of [/NVIDIA H200.*driver 580/, /'device'.*'cpu'/, /'streams: 16'.*tokens\/s/])
      t.match(stdout, row)
    t.match(stdout, /the engine took cpu; missing: /)
    t.match(stdout, /did not see the memory of the weights/)
  })
})
