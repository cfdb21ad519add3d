//! Split units: units whose entries are in files of their own (`.dwo`) or in packages of such files
//! (`.dwp`; DWARF 5, 7.3.2 and appendix F; DWARF 4: the GNU extension of gcc and clang).
//!
//! The image has a skeleton unit for each, with its addresses and lines. This module adds the
//! entries of the split unit when they are first needed. [`SplitFiles`] opens the files.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{DwarfFileType, IndexSectionId, Reader as _, UnitOffset, UnitType};

use super::sections::{Reader, Sections};
use super::split_files::{Package, SplitUnit};
use super::tables;
use super::unit::{Contribution, Die, Home, Slot, Split, TypeUnits};
use super::units::Units;
use super::unsupported::Unsupported;
use crate::address::Vaddr;
use crate::text;

impl<'s> Contribution<'s> {
    fn object(sections: &'s Sections<'s>, path: Arc<str>, image: &gimli::Dwarf<Reader<'s>>) -> Self {
        let mut dwarf = sections.dwarf();
        dwarf.make_dwo(image);
        let locations = [".debug_loc", ".debug_loclists"].map(|name| sections.reader(name));
        Self { dwarf, locations, path }
    }

    /// The sections that a row in the index of a package names, of its units or its type units.
    fn row(package: &Package<'s>, types: bool, row: u32, image: &gimli::Dwarf<Reader<'s>>) -> gimli::Result<Self> {
        let index = if types { &package.index.tu_index } else { &package.index.cu_index };
        let mut locations = [IndexSectionId::DebugLoc, IndexSectionId::DebugLocLists].map(|_| package.empty);
        for section in index.sections(row)? {
            let (name, at) = match section.section {
                IndexSectionId::DebugLoc => (".debug_loc", 0),
                IndexSectionId::DebugLocLists => (".debug_loclists", 1),
                _ => continue,
            };
            let mut part = package.sections.reader(name);
            part.skip(section.offset as usize)?;
            part.truncate(section.size as usize)?;
            if let Some(location) = locations.get_mut(at) {
                *location = part;
            }
        }
        let dwarf = match types {
            true => package.index.tu_sections(row, image)?,
            false => package.index.cu_sections(row, image)?,
        };
        Ok(Self { dwarf, locations, path: Arc::clone(&package.path) })
    }

    /// The split unit with an identity, and the type units in the same file.
    fn unit(self, info: &Units<'s>, id: u64) -> Option<Split<'s>> {
        let (mut found, mut types) = (None, Vec::new());
        let mut headers = self.dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            info.charge(1).ok()?;
            match header.type_() {
                UnitType::SplitType { .. } | UnitType::Type { .. } => types.push(header),
                _ if found.is_none() => {
                    found = info.parse(&self.dwarf, header).ok().filter(|unit| unit.dwo_id == Some(gimli::DwoId(id)));
                }
                _ => {}
            }
        }
        let mut headers = self.dwarf.type_units();
        while let Ok(Some(header)) = headers.next() {
            info.charge(1).ok()?;
            types.push(header);
        }
        let of = Arc::new(self);
        let types = types.into_iter().map(|header| Slot::new(header, Home::Split(Arc::clone(&of)))).collect();
        Some(Split { unit: found?, of, types: TypeUnits::new(types) })
    }
}

impl<'s> Sections<'s> {
    /// Whether the file contains the split unit `id`, and the identities of the split units in it.
    #[must_use]
    pub fn split_unit(&self, id: u64) -> (bool, Vec<u64>) {
        // This provides a work limit, and the checks that gimli does not make.
        let info = Units::new(self, None, None);
        let mut dwarf = self.dwarf();
        dwarf.file_type = DwarfFileType::Dwo;
        let mut ids = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            ids.extend(info.parse(&dwarf, header).ok().and_then(|unit| unit.dwo_id).map(|id| id.0));
        }
        (ids.contains(&id), ids)
    }
}

impl<'s> Units<'s> {
    /// The split unit of a skeleton unit; `None` if the unit is not a skeleton unit, or its split
    /// unit was not found.
    pub(super) fn split(&self, index: usize) -> Option<&Split<'s>> {
        self.split_files.files?;
        // The supplementary file has no code, and so no skeleton units.
        let slot = self.units.get(index).filter(|slot| matches!(slot.home, Home::Image))?;
        slot.split.get_or_init(|| self.open(index)).as_ref()
    }

    /// The split unit that a skeleton unit names; `None` if the unit is not a skeleton unit.
    pub(super) fn skeleton(&self, index: usize) -> Option<SplitUnit> {
        let unit = self.own_unit(index).ok()?;
        let id = unit.dwo_id?.0;
        let name = tables::text(&self.dwarf, unit, unit.dwo_name().ok()??).ok()?;
        let comp_dir = unit.comp_dir.map(|directory| directory.slice().to_vec());
        Some(SplitUnit { name: name.slice().to_vec(), comp_dir, id })
    }

    /// Why the entries at an address cannot be read; `None` if they can, or there are none.
    pub(super) fn missing_at(&self, address: Vaddr) -> Option<Unsupported> {
        let unit = self.unit_at(address)?;
        let skeleton = self.skeleton(unit)?;
        match self.split(unit) {
            Some(_) => None,
            // The work limit is reached, so the file was not looked for. The next question reports
            // this.
            None if self.check_work_left().is_err() => None,
            None => Some(Unsupported::SplitUnit { file: text::from_bytes(&skeleton.name) }),
        }
    }

    /// Finds the split unit. Must not access split entries or make an error with the position of an
    /// entry, because both wait for this function.
    fn open(&self, index: usize) -> Option<Split<'s>> {
        let wanted = self.skeleton(index)?;
        let mut split = self.open_in_package(wanted.id).or_else(|| {
            let (number, sections, path) = self.split_files.files?.object(&wanted)?;
            self.credit((false, number), sections.allowed_work());
            Contribution::object(sections, path, &self.dwarf).unit(self, wanted.id)
        })?;
        let own = self.own_unit(index).ok()?;
        split.unit.copy_relocated_attributes(own);
        Some(split)
    }

    fn open_in_package(&self, id: u64) -> Option<Split<'s>> {
        let package = self.package()?;
        let row = package.index.cu_index.find(id)?;
        let split = Contribution::row(package, false, row, &self.dwarf).ok()?.unit(self, id)?;
        self.credit((true, id), (split.unit.header.length_including_self() as u64).saturating_mul(16));
        Some(split)
    }

    fn package(&self) -> Option<&Package<'s>> {
        let open = || {
            let (sections, path) = self.split_files.files?.package()?;
            let load = |id: gimli::SectionId| Ok::<_, gimli::Error>(sections.reader(id.name()));
            let empty = sections.reader("");
            Some(Package { index: gimli::DwarfPackage::load(load, empty).ok()?, sections, empty, path })
        };
        self.split_files.package.get_or_init(open).as_ref()
    }

    /// Raises the work limit for additional debug information. Counts each file and each part of a
    /// package once.
    fn credit(&self, what: (bool, u64), steps: u64) {
        let mut credited = self.split_files.credited.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if credited.insert(what) {
            self.allow(steps.min(1 << 48));
        }
    }

    /// The type units in the file of a split unit. For the index [`Self::unit_count`], those of the
    /// package.
    pub(super) fn split_types(&self, index: usize) -> Option<&TypeUnits<'s>> {
        if index != self.unit_count() {
            return self.split(index).map(|split| &split.types);
        }
        let package = self.package()?;
        Some(self.split_files.package_types.get_or_init(|| {
            let mut types = Vec::new();
            for row in 1..=package.index.tu_index.unit_count() {
                if self.charge(1).is_err() {
                    break;
                }
                let Ok(of) = Contribution::row(package, true, row, &self.dwarf) else { continue };
                let header = of.dwarf.units().next().ok().flatten();
                let Some(header) = header.or_else(|| of.dwarf.type_units().next().ok().flatten()) else { continue };
                types.push(Slot::new(header, Home::Split(Arc::new(of))));
            }
            TypeUnits::new(types)
        }))
    }

    /// The entry at an offset in `.debug_info.dwo` of the file that `unit` is in; `None` if no unit
    /// holds that offset.
    pub(super) fn split_die(&self, unit: usize, of: &Contribution<'s>, wanted: gimli::DebugInfoOffset) -> Option<Die> {
        let offset =
            |header: &gimli::UnitHeader<Reader<'s>>| wanted.to_unit_offset(header).map(|UnitOffset(offset)| offset);
        if let Some(offset) = self.header(unit).and_then(offset) {
            return Some(Die { unit, offset });
        }
        let mut headers = of.dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            self.charge(1).ok()?;
            let Some(offset) = offset(&header) else { continue };
            let id = self.parse(&of.dwarf, header).ok()?.dwo_id?.0;
            return Some(Die { unit: *self.skeletons().get(&id)?, offset });
        }
        None
    }

    /// The skeleton units, by the identities of their split units.
    fn skeletons(&self) -> &HashMap<u64, usize> {
        self.split_files.skeletons.get_or_init(|| {
            let skeleton = |unit| Some((self.own_unit(unit).ok()?.dwo_id?.0, unit));
            self.compiled_units().filter_map(skeleton).collect()
        })
    }
}
