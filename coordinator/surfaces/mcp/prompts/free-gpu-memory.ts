import type { OperatorPrompt } from './prompt.ts'

export const freeGpuMemory: OperatorPrompt = {
  name: 'free-gpu-memory',
  title: 'Free GPU memory',
  description: 'Find out why GPUs are nearly out of memory, and propose models to unload.',
  arguments: [{ name: 'cell_id', description: 'Only this cell.', required: false }],
  tools: ['vram-guard', 'cells-list', 'cells-show', 'cells-unload', 'routing-show'],
  text: ({ cell_id }) =>
    [
      cell_id === undefined
        ? 'GPUs may be nearly out of memory. Call vram-guard and cells-list.'
        : `Look at the GPU memory of the cell ${JSON.stringify(cell_id)}. Call vram-guard and cells-show.`,
      'For each GPU above the limit: which models are loaded there, which of them have requests in',
      'flight (routing-show) and which are pinned. Propose models to unload and how much that frees.',
      'Call cells-unload only after I have said yes to your proposal.',
    ].join('\n'),
}
