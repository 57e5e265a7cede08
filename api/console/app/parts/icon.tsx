/** Lines of small drawings for the menu, in a square of 16 pixels. */
const paths = {
  home: 'M2 7.5l6-5 6 5M3.5 6.3v7.2h9V6.3',
  cube: 'M8 1.8l6 3.2v6l-6 3.2L2 11V5zM2 5l6 3.2L14 5M8 8.2v6',
  screen: 'M2 3h12v8H2zM8 11v3M5.5 14h5',
  people:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.8c0-2.6 2-4.3 4.5-4.3s4.5 1.7 4.5 4.3M10.6 2.8a2.4 2.4 0 0 1 0 4.4M12.2 9.9c1.4.6 2.3 2 2.3 3.9',
  play: 'M4.5 3v10l8-5z',
  key: 'M10.6 8.4a3.2 3.2 0 1 0-3-3L2 11v3h3v-1.9h1.9v-1.9l1.8-1.9c.6.2 1.3.3 1.9.1z',
  plug: 'M5.5 1.5v4M10.5 1.5v4M3.5 5.5h9v2a4.5 4.5 0 0 1-9 0zM8 12v2.5',
  bars: 'M2.5 13.5v-3M6 13.5v-7M9.5 13.5v-5M13 13.5v-11',
  sliders: 'M2 4.5h7M12 4.5h2M2 11.5h2M7 11.5h7M10.5 3v3M5.5 10v3',
  page: 'M3.5 1.5h6l3 3v10h-9zM9.2 1.5v3.3h3.3M5.8 8.2h4.4M5.8 11.2h4.4',
  building: 'M3 14V2.5h7V14M10 6.5h3.5V14M1.5 14h13M5.2 5.5h2.6M5.2 8.5h2.6M5.2 11.2h2.6',
  flag: 'M4 14.5v-12M4 3h8.5l-2 3 2 3H4',
  queue: 'M2 4h12M2 8h12M2 12h7',
  file: 'M3.5 1.5h6l3 3v10h-9zM9.2 1.5v3.3h3.3M8 12V7M5.8 9.2L8 7l2.2 2.2',
  tick: 'M3 8.5l3.5 3.5L13 4.5',
  barred: 'M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4zM3.6 3.6l8.8 8.8',
  down: 'M3.5 6l4.5 4.5L12.5 6',
} as const;

export type IconName = keyof typeof paths;

/** A small drawing beside a text that says the same. */
export const Icon = ({ of }: { readonly of: IconName }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={paths[of]} />
  </svg>
);
