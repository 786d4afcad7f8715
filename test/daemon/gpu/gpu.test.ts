import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { readAmdGpus } from '../../../daemon/gpu/amd-sysfs.ts'
import { chooseSampler } from '../../../daemon/gpu/choose.ts'
import { parseProcesses, withProcesses } from '../../../daemon/gpu/nvidia-processes.ts'
import { nvidiaSampler, parseRow } from '../../../daemon/gpu/nvidia-smi.ts'
import { combineSamplers, type GpuSampler } from '../../../daemon/gpu/sampler.ts'
import { jetsonSampler, parseTegrastats } from '../../../daemon/gpu/tegrastats.ts'
import { GpuFacts } from '../../../shared/wire/announce.ts'
import { GpuSample } from '../../../shared/wire/telemetry.ts'
import { waitUntilTrue } from '../stand-in.ts'

const MIB = 1024 * 1024

const newFolder = (t: { teardown: (done: () => void) => unknown }): string => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-gpu-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const script = (folder: string, name: string, text: string): string => {
  const file = join(folder, name)
  writeFileSync(file, `#!/bin/sh\n${text}\n`)
  chmodSync(file, 0o755)
  return file
}

/** Pauses that end only with the signal, so that a dead child stays dead. */
const never = (_milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise(resolve => signal.addEventListener('abort', () => resolve()))

const watch = (t: { teardown: (done: () => void) => unknown }, sampler: GpuSampler): GpuSampler => {
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  sampler.start(stop.signal)
  return sampler
}

const ROW =
  '0, GPU-1, 550.54.14, 24576, 1024, 37, 45, 61.25, 1410, 9751, [N/A], NVIDIA GeForce RTX 3090'

t.test('a row of nvidia-smi is parsed', async t => {
  const seen = parseRow(ROW)
  t.strictSame(seen?.facts, {
    index: 0,
    id: 'GPU-1',
    vram_total_bytes: 24576 * MIB,
    unified_memory: false,
    name: 'NVIDIA GeForce RTX 3090',
    vendor: 'nvidia',
    driver: '550.54.14',
  })
  t.strictSame(seen?.sample, {
    index: 0,
    id: 'GPU-1',
    vram_total_bytes: 24576 * MIB,
    unified_memory: false,
    vram_used_bytes: 1024 * MIB,
    utilization_percent: 37,
    temperature_celsius: 45,
    power_watts: 61.25,
    clock_mhz: 1410,
    memory_clock_mhz: 9751,
  })

  for (const [name, row, expected] of [
    [
      'an idle GPU is 0 and not unknown',
      '0, G, 550.1, 24576, 0, 0, 0, 0.00, 0, 9751, [N/A], N',
      [0, 0, 0, 0, 0],
    ],
    [
      'what the driver does not tell is unknown',
      '0, G, 550.1, 24576, [N/A], [Not Supported], N/A, [Unknown Error], ERR!, 9751, [N/A], N',
      [null, null, null, null, null],
    ],
    [
      'a GPU in MIG mode has memory but no utilization',
      '3, GPU-a, 550.1, 81559, 512, [N/A], 33, 71.20, 345, 1593, Enabled, NVIDIA A100 80GB PCIe',
      [512 * MIB, null, 33, 71.2, 345],
    ],
    [
      'figures that cannot be are unknown',
      '0, G, 550.1, 24576, -5, 101, 45, 1e3, nan, 9751, [N/A], N',
      [null, null, 45, null, null],
    ],
  ] as const) {
    const sample = parseRow(row)?.sample
    t.strictSame(
      sample && [
        sample.vram_used_bytes,
        sample.utilization_percent,
        sample.temperature_celsius,
        sample.power_watts,
        sample.clock_mhz,
      ],
      expected,
      name,
    )
    t.strictSame(GpuSample.parse(sample), sample)
    t.strictSame(GpuFacts.parse(parseRow(row)?.facts), parseRow(row)?.facts)
  }

  for (const [mode, enabled] of [
    ['Enabled', true],
    ['Disabled', false],
    ['[N/A]', undefined],
  ] as const)
    t.equal(parseRow(ROW.replace('[N/A]', mode))?.sample.mig_enabled, enabled)
  t.equal(parseRow('0, G, 1, 1, 1, 1, 1, 1, 1, 9751, [N/A], Some, Name')?.facts.name, 'Some, Name')
  t.match(parseRow('0, G, 580.1, [N/A], [N/A], 5, 40, 10, 1, 9751, [N/A], NVIDIA GB10'), {
    facts: { unified_memory: true, vram_total_bytes: null },
    sample: { unified_memory: true, vram_used_bytes: null, utilization_percent: 5 },
  })
  for (const line of [
    '',
    'No devices were found',
    'Failed to initialize NVML: Driver/library version mismatch',
    'Unable to determine the device handle for GPU 0000:01:00.0: GPU is lost.',
    '0, GPU-1, 550',
    '-1, G, 1, 1, 1, 1, 1, 1, 1, 9751, [N/A], N',
    '0, , 1, 1, 1, 1, 1, 1, 1, 9751, [N/A], N',
    '\u0000\ufffd',
    ', , , , , , , , , , , ,',
  ])
    t.equal(parseRow(line), undefined, `"${line}" is no row`)
})

t.test('nvidia-smi', async t => {
  t.test('runs as one child that reports repeatedly', async t => {
    const folder = newFolder(t)
    const command = script(
      folder,
      'nvidia-smi',
      `echo "$@" >> ${folder}/starts
      echo '1, GPU-b, 550.1, 1000, 10, 1, 1, 1, 1, 9751, [N/A], B'
      while true; do echo '${ROW}'; sleep 0.01; done`,
    )
    const sampler = watch(t, nvidiaSampler({ command, intervalSeconds: 5 }))
    t.strictSame(sampler.sample(), { gpus: [] })
    await waitUntilTrue(() => sampler.facts().length === 2)
    t.strictSame(
      sampler.facts().map(({ index, name }) => [index, name]),
      [
        [0, 'NVIDIA GeForce RTX 3090'],
        [1, 'B'],
      ],
    )
    t.equal(sampler.sample().reason, undefined)
    t.equal(sampler.sample().gpus[0]?.utilization_percent, 37)
  })

  t.test('a GPU that has missed two periods is unknown, with the reason', async t => {
    let clock = 0
    const command = script(newFolder(t), 'nvidia-smi', `echo '${ROW}'; exec sleep 1000`)
    const sampler = watch(t, nvidiaSampler({ command, intervalSeconds: 5, now: () => clock }))
    await waitUntilTrue(() => sampler.facts().length === 1)
    clock = 12_500
    t.equal(sampler.sample().gpus[0]?.utilization_percent, 37)
    clock = 12_501
    t.strictSame(sampler.sample(), {
      takenAt: 0,
      gpus: [
        {
          index: 0,
          id: 'GPU-1',
          utilization_percent: null,
          vram_total_bytes: 24576 * MIB,
          vram_used_bytes: null,
          temperature_celsius: null,
          power_watts: null,
          clock_mhz: null,
          unified_memory: false,
        },
      ],
      reason: 'GPU 0 has not been reported for 13 s',
    })
  })

  for (const [name, text, reason] of [
    ['says why on its error output', 'echo "NVML broke" >&2; exit 9', /^NVML broke$/],
    [
      'says why on its output',
      'echo "No devices were found"; exec sleep 1000',
      /^No devices were found$/,
    ],
    ['ends without a word', 'exit 6', /nvidia-smi ended with 6$/],
    ['writes without an end', 'head -c 100000 /dev/zero; echo; echo short', /^short$/],
  ] as const)
    t.test(`a child that ${name} leaves the GPUs unknown`, async t => {
      const command = script(newFolder(t), 'nvidia-smi', text)
      const sampler = watch(t, nvidiaSampler({ command, intervalSeconds: 5, wait: never }))
      await waitUntilTrue(() => reason.test(sampler.sample().reason ?? ''))
      t.strictSame(sampler.sample().gpus, [])
    })

  t.test('a missing program is reported', async t => {
    const sampler = watch(t, nvidiaSampler({ command: '/none', intervalSeconds: 5, wait: never }))
    await waitUntilTrue(() => sampler.sample().reason !== undefined)
    t.match(sampler.sample().reason, /^\/none cannot be run/)
  })

  t.test('a process that dies is restarted after a pause', async t => {
    const folder = newFolder(t)
    const command = script(
      folder,
      'nvidia-smi',
      `if [ ! -e ${folder}/second ]; then touch ${folder}/second; exit 1; fi
      echo '${ROW}'; exec sleep 1000`,
    )
    const pauses: number[] = []
    const wait = async (milliseconds: number) => void pauses.push(milliseconds)
    const sampler = watch(t, nvidiaSampler({ command, intervalSeconds: 5, wait }))
    await waitUntilTrue(() => sampler.facts().length === 1)
    t.strictSame(pauses, [1000])
    t.equal(sampler.sample().reason, undefined)
  })

  t.test('a process that hangs is killed and restarted', async t => {
    const folder = newFolder(t)
    const command = script(
      folder,
      'nvidia-smi',
      `if [ ! -e ${folder}/second ]; then touch ${folder}/second; exec sleep 1000; fi
      echo '${ROW}'; exec sleep 1000`,
    )
    const wait = async () => {}
    // four periods of silence end a child
    const sampler = watch(t, nvidiaSampler({ command, intervalSeconds: 0.05, wait }))
    await waitUntilTrue(() => sampler.facts().length === 1)
    t.equal(sampler.facts()[0]?.id, 'GPU-1')
  })
})

t.test('programs that use a GPU', async t => {
  t.test('are listed by GPU, largest first, without lines of no program', async t => {
    const text = [
      'GPU-1, 41, 512, /usr/bin/python3',
      'GPU-1, 42, 2048, /opt/a, b/llama-server',
      'GPU-2, 43, [N/A], x',
      'GPU-2, [Not Found], 1, y',
      'No running processes found',
      '',
    ].join('\n')
    const lists = parseProcesses(text)
    t.strictSame(lists.get('GPU-1'), [
      { pid: 42, name: 'llama-server', used_bytes: 2048 * MIB },
      { pid: 41, name: 'python3', used_bytes: 512 * MIB },
    ])
    t.strictSame(lists.get('GPU-2'), [{ pid: 43, name: 'x', used_bytes: null }])
    const many = Array.from({ length: 99 }, (_, i) => `G, ${i}, ${i}, p`).join('\n')
    t.strictSame(
      [parseProcesses(many).get('G')?.length, parseProcesses(many).get('G')?.[0]?.pid],
      [16, 98],
    )
  })

  t.test('are part of the sample until the list fails', async t => {
    const gpu = parseRow(ROW)?.sample as GpuSample
    const gpus = [gpu, { ...gpu, id: 'GPU-2' }]
    const still: GpuSampler = { start: () => {}, facts: () => [], sample: () => ({ gpus }) }
    const answers = ['GPU-1, 41, 512, a', undefined, undefined]
    const seen: unknown[] = []
    const stop = new AbortController()
    const sampler = withProcesses(still, {
      command: 'nvidia-smi',
      run: async () => {
        const answer = answers.shift()
        if (answer === undefined) throw new Error('it ended with 9')
        return answer
      },
      wait: async () => {
        seen.push(sampler.sample().gpus.map(one => one.processes))
        if (answers.length === 0) stop.abort()
      },
    })
    t.strictSame(sampler.sample().gpus, gpus)
    sampler.start(stop.signal)
    await waitUntilTrue(() => seen.length === 3)
    const list = [{ pid: 41, name: 'a', used_bytes: 512 * MIB }]
    t.strictSame(seen, [
      [list, []],
      [list, []],
      [undefined, undefined],
    ])
    for (const one of sampler.sample().gpus) t.strictSame(GpuSample.parse(one), one)
  })

  t.test('are queried from nvidia-smi', async t => {
    const command = script(
      newFolder(t),
      'nvidia-smi',
      'case "$1" in *compute-apps*) echo "GPU-1, 7, 1, p";; esac',
    )
    const still: GpuSampler = {
      start: () => {},
      facts: () => [],
      sample: () => ({ gpus: [parseRow(ROW)?.sample as GpuSample] }),
    }
    const sampler = watch(t, withProcesses(still, { command, wait: never }))
    await waitUntilTrue(() => sampler.sample().gpus[0]?.processes?.length === 1)
  })
})

t.test('a line of tegrastats is parsed', async t => {
  const line =
    '11-20-2026 10:00:00 RAM 2448/7620MB (lfb 4x4MB) SWAP 0/3810MB (cached 0MB) ' +
    'CPU [3%@1510,0%@1510,off,off] EMC_FREQ 0%@2133 GR3D_FREQ 12%@[305] cpu@46.2C ' +
    'soc2@45.2C gpu@45.4C tj@46.2C VDD_IN 4000mW/4000mW VDD_GPU_SOC 1250mW/1000mW'
  const seen = parseTegrastats(line, 'NVIDIA Jetson Orin Nano')
  t.strictSame(GpuFacts.parse(seen?.facts), seen?.facts)
  t.strictSame(GpuSample.parse(seen?.sample), seen?.sample)
  t.match(seen, {
    facts: { vendor: 'jetson', name: 'NVIDIA Jetson Orin Nano', unified_memory: true },
    sample: {
      vram_used_bytes: 2448 * MIB,
      vram_total_bytes: 7620 * MIB,
      utilization_percent: 12,
      temperature_celsius: 45.4,
      power_watts: 1.25,
      clock_mhz: 305,
      memory_clock_mhz: 2133,
    },
  })
  t.match(
    parseTegrastats('RAM 100/3964MB (lfb 1x1MB) GR3D_FREQ 0%@76 GPU@27C POM_5V_GPU 40/40', 'Nano'),
    {
      sample: {
        utilization_percent: 0,
        temperature_celsius: 27,
        power_watts: 0.04,
        clock_mhz: 76,
      },
    },
  )
  t.match(parseTegrastats('RAM 100/3964MB', 'Nano'), {
    sample: { utilization_percent: null, temperature_celsius: null, power_watts: null },
  })
  t.equal(parseTegrastats('tegrastats: command failed', 'Nano'), undefined)

  const command = script(newFolder(t), 'tegrastats', `echo '${line}'; exec sleep 1000`)
  const sampler = watch(t, jetsonSampler({ command, board: 'B', intervalSeconds: 5 }))
  await waitUntilTrue(() => sampler.facts().length === 1)
  t.equal(sampler.sample().gpus[0]?.utilization_percent, 12)
})

const writeTree = (folder: string, files: Record<string, string>): void => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

/** One discrete card, one that shares the host's memory, one of another maker, and a connector. */
const drmTree = (folder: string): string => {
  writeTree(folder, {
    'pci/0000:03:00.0/vendor': '0x1002\n',
    'pci/0000:03:00.0/device': '0x744c\n',
    'pci/0000:03:00.0/product_name': 'Radeon RX 7900 XTX\n',
    'pci/0000:03:00.0/mem_info_vram_total': '25753026560\n',
    'pci/0000:03:00.0/mem_info_vram_used': '0\n',
    'pci/0000:03:00.0/mem_info_gtt_total': '33000000000\n',
    'pci/0000:03:00.0/mem_info_gtt_used': '1000\n',
    'pci/0000:03:00.0/gpu_busy_percent': '0\n',
    'pci/0000:03:00.0/mem_busy_percent': '0\n',
    'pci/0000:03:00.0/hwmon/hwmon4/temp1_input': '41000\n',
    'pci/0000:03:00.0/hwmon/hwmon4/power1_average': '17000000\n',
    'pci/0000:03:00.0/hwmon/hwmon4/freq1_input': '500000000\n',
    'pci/0000:03:00.0/hwmon/hwmon4/freq2_input': '96000000\n',
    'pci/0000:0c:00.0/vendor': '0x1002\n',
    'pci/0000:0c:00.0/device': '0x164e\n',
    'pci/0000:0c:00.0/mem_info_vram_total': '536870912\n',
    'pci/0000:0c:00.0/mem_info_vram_used': '100\n',
    'pci/0000:0c:00.0/mem_info_gtt_total': '16000000000\n',
    'pci/0000:0c:00.0/mem_info_gtt_used': '50\n',
    'pci/0000:0c:00.0/gpu_busy_percent': '7\n',
    'pci/0000:00:02.0/vendor': '0x8086\n',
  })
  for (const [card, device] of [
    ['card1', '0000:03:00.0'],
    ['card10', '0000:0c:00.0'],
    ['card2', '0000:00:02.0'],
  ] as const) {
    mkdirSync(join(folder, 'drm', card), { recursive: true })
    symlinkSync(join(folder, 'pci', device), join(folder, 'drm', card, 'device'))
  }
  mkdirSync(join(folder, 'drm', 'card1-HDMI-A-1'))
  return join(folder, 'drm')
}

t.test('amdgpu', async t => {
  const seen = await readAmdGpus(drmTree(newFolder(t)))
  for (const { facts, sample } of seen) {
    t.strictSame(GpuFacts.parse(facts), facts)
    t.strictSame(GpuSample.parse(sample), sample)
  }
  t.strictSame(
    seen.map(({ sample }) => sample),
    [
      {
        index: 0,
        id: '0000:03:00.0',
        vram_total_bytes: 25753026560,
        unified_memory: false,
        vram_used_bytes: 0,
        utilization_percent: 0,
        temperature_celsius: 41,
        power_watts: 17,
        clock_mhz: 500,
        memory_clock_mhz: 96,
      },
      {
        index: 1,
        id: '0000:0c:00.0',
        vram_total_bytes: 16536870912,
        unified_memory: true,
        vram_used_bytes: 150,
        utilization_percent: 7,
        temperature_celsius: null,
        power_watts: null,
        clock_mhz: null,
      },
    ],
  )
  t.strictSame(
    seen.map(({ facts }) => facts.name),
    ['Radeon RX 7900 XTX', 'AMD GPU 0x164e'],
  )
  t.strictSame(await readAmdGpus('/none'), [])
})

t.test('the sampler is chosen by platform', async t => {
  const folder = newFolder(t)
  const machine = { path: folder, drmFolder: '/none', boardFile: '/none', intervalSeconds: 5 }
  const none = await chooseSampler(machine)
  t.strictSame([none.facts(), none.sample()], [[], { gpus: [] }], 'without a GPU there is none')

  const amd = watch(t, await chooseSampler({ ...machine, drmFolder: drmTree(folder) }))
  await waitUntilTrue(() => amd.facts().length === 2)
  t.equal(amd.facts()[0]?.vendor, 'amd')

  const file = script(folder, 'nvidia-smi', `echo '${ROW}'; exec sleep 1000`)
  const both = watch(t, await chooseSampler({ ...machine, drmFolder: join(folder, 'drm') }))
  await waitUntilTrue(() => both.facts().length === 3)
  t.equal(both.facts()[0]?.vendor, 'nvidia', 'two makers in one cell are both watched')

  chmodSync(file, 0o644)
  const third = await chooseSampler(machine)
  t.strictSame(third.facts(), [], 'a file that cannot be run is no program')

  writeFileSync(join(folder, 'model'), 'NVIDIA Jetson AGX\0')
  script(folder, 'tegrastats', 'echo RAM 1/2MB; exec sleep 1000')
  const jetson = watch(t, await chooseSampler({ ...machine, boardFile: join(folder, 'model') }))
  await waitUntilTrue(() => jetson.facts().length === 1)
  t.equal(jetson.facts()[0]?.name, 'NVIDIA Jetson AGX')

  const silent: GpuSampler = {
    start: () => {},
    facts: () => [],
    sample: () => ({ gpus: [], reason: 'a' }),
  }
  t.equal(combineSamplers([silent, silent]).sample().reason, 'a; a')
})
